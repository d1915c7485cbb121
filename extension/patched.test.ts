import { describe, expect, it } from 'vitest';
import { apply, read } from './patched.mjs';

const patch = `What it is for.
--- a/dist/a.js
+++ b/dist/a.js
@@ -1,2 +1,3 @@
 one
+one and a half
 two
@@ -3,2 +4,1 @@
-three
 four

And what this is for.
--- a/dist/a.js
+++ b/dist/a.js
@@ -2,1 +2,1 @@
-one and a half
+half
`;

describe('a patch', () => {
  it('changes the text that it was made for', () => {
    const files = read(patch);
    expect(Object.keys(files)).toEqual(['dist/a.js']);
    expect(apply('one\ntwo\nthree\nfour\n', files['dist/a.js'], 'a.js')).toBe('one\nhalf\ntwo\nfour\n');
  });

  it('is refused by another text', () => {
    expect(() => apply('one\n2\nthree\nfour\n', read(patch)['dist/a.js'], 'a.js')).toThrow(
      'a.js: line 1 differs',
    );
  });
});
