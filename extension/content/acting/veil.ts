/** Shows what is secret as dots while a picture is taken. */
import type { SensitiveFields } from '../sensitive/fields';

const PROPERTY = '-webkit-text-security';
const veiled = new Map<HTMLElement, string>();

/** Veils the fields that hold secrets, or takes that back. */
export function veil(fields: Iterable<Element>, sensitive: SensitiveFields, on: boolean): void {
  if (on) {
    for (const element of fields) {
      const field = element as HTMLElement;
      if (veiled.has(field) || !sensitive.has(field)) continue;
      veiled.set(field, field.style.getPropertyValue(PROPERTY));
      field.style.setProperty(PROPERTY, 'disc', 'important');
    }
    return;
  }
  for (const [field, before] of veiled) {
    if (before === '') field.style.removeProperty(PROPERTY);
    else field.style.setProperty(PROPERTY, before);
  }
  veiled.clear();
}
