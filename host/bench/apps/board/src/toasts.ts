import { reactive } from 'vue';

export const toasts = reactive<string[]>([]);

export function toast(text: string) {
  toasts.push(text);
}
