export async function items() {
  const answer = await fetch('/api/items');
  return answer.json();
}
