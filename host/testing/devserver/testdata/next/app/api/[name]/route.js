export async function GET(_, { params }) {
  const { name } = await params;
  const items = [{ name: 'pen', cents: 120 }, { name: 'ink', cents: 340 }];
  return Response.json(items, { status: name === 'items' ? 200 : 500 });
}
