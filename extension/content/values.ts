import { tagOf } from './dom';
import { fold, readText } from './text';

/** The maximum length of a reported value, in UTF-16 units. */
export const MAX_VALUE = 200;

/**
 * What a field holds, for a reader: the text, the chosen options' captions, `checked`, the names of
 * files. The caller has made sure that the field is not sensitive.
 */
export function fieldValue(field: Element): string {
  switch (tagOf(field)) {
    case 'select': {
      const { selectedOptions } = field as HTMLSelectElement;
      return fold(
        Array.from(selectedOptions)
          .map((option) => option.label || option.text)
          .join(', '),
        MAX_VALUE,
      );
    }
    case 'textarea':
      return fold((field as HTMLTextAreaElement).value.slice(0, MAX_VALUE * 4), MAX_VALUE);
    case 'input': {
      const input = field as HTMLInputElement;
      if (input.type === 'checkbox' || input.type === 'radio') return input.checked ? 'checked' : 'unchecked';
      if (input.type === 'file') {
        return fold(
          Array.from(input.files ?? [])
            .map((file) => file.name)
            .join(', '),
          MAX_VALUE,
        );
      }
      return fold(input.value.slice(0, MAX_VALUE * 4), MAX_VALUE);
    }
    default:
      return readText(field, MAX_VALUE);
  }
}
