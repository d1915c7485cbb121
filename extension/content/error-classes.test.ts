import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readClasses } from './error-classes';

describe('readClasses', () => {
  it.each([
    ['error', 'error'],
    ['error-banner', 'error'],
    ['form__error', 'error'],
    ['form-error-message', 'error'],
    ['alert alert-danger', 'error'],
    ['callout is-danger-message', 'error'],
    ['help is-danger', 'error'],
    ['invalid-feedback', 'error'],
    ['field-validation-error', 'error'],
    ['errorMessage', 'error'],
    ['toast toast--error', 'error'],
    ['toast text-bg-danger', 'error'],
    ['Toastify__toast Toastify__toast--error', 'error'],
    ['MuiPaper-root MuiAlert-root MuiAlert-colorError MuiAlert-standardError', 'error'],
    ['notistack-MuiContent notistack-MuiContent-error', 'error'],
    ['ant-message-custom-content ant-message-error', 'error'],
    ['el-message el-message--error', 'error'],
    ['is-invalid', 'field'],
    ['alert', 'alert'],
    ['alert alert-warning', 'alert'],
    ['toast show', 'toast'],
    ['MuiSnackbarContent-root', 'toast'],
    ['alert alert-success', 'fine'],
    ['alert alert-info', 'fine'],
    ['Toastify__toast Toastify__toast--success', 'fine'],
    ['MuiPaper-root MuiAlert-root MuiAlert-colorSuccess MuiAlert-standardSuccess', 'fine'],
    ['toast bg-success', 'fine'],
    ['no-error', 'none'],
    ['error-boundary', 'none'],
    ['btn btn-danger', 'none'],
    ['badge badge-error', 'none'],
    ['text-danger', 'none'],
    ['text-error-600 bg-error', 'none'],
    ['error-icon', 'none'],
    ['ng-invalid ng-dirty', 'none'],
    ['aria-invalid:ring-destructive/20 group-[.error]:text-red', 'none'],
    ['alert-dialog-trigger alerts', 'none'],
    ['terror mirror', 'none'],
    ['message message-body', 'none'],
    ['', 'none'],
  ])('%s is %s', (classes, verdict) => {
    expect(readClasses(classes).verdict).toBe(verdict);
  });

  it('names the class that decided', () => {
    expect(readClasses('p-4 login__error shadow').name).toBe('login__error');
  });

  it('does not depend on the order of classes', () => {
    const names = fc.constantFrom(
      'toast',
      'show',
      'alert',
      'alert-danger',
      'p-4',
      'bg-success',
      'error-banner',
      'is-invalid',
    );
    fc.assert(
      fc.property(fc.uniqueArray(names, { maxLength: 6 }), (classes) => {
        expect(readClasses(classes.join(' ')).verdict).toBe(
          readClasses(classes.toReversed().join(' ')).verdict,
        );
      }),
    );
  });
});
