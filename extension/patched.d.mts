/** What a patch replaces, from a line on. */
interface Change {
  at: number;
  before: string[];
  after: string[];
}
export function patched(): { name: string };
export function read(patch: string): Record<string, Change[]>;
export function apply(text: string, changes: Change[] | undefined, name: string): string;
