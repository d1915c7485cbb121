package redact

import "unicode/utf8"

// Hidden characters must not hide a key or divide a token: secrets are searched in the text that a reader sees. Where
// there is none, the text stays as it is.

// withoutHidden masks s as mask does, without its hidden characters.
func withoutHidden(r *Redactor, s string, tr *trace, mask func(r *Redactor, s string, tr *trace) (string, int)) (string, int) {
	p := r.pass(s, tr)
	for i := 0; i < len(s); i++ {
		for i < len(s) && s[i] >= 0x20 && s[i] < 0x7f {
			i++
		}
		if i == len(s) {
			break
		}
		n := hiddenAt(s, i)
		if n == 0 {
			continue
		}
		p.replace(i, i+n, "", 1)
		if tr != nil {
			tr.add(i, i+n, 0)
		}
		i += n - 1
	}
	if p.n == 0 {
		return mask(r, s, tr)
	}
	shown, _ := p.done()
	if masked, n := mask(r, shown, tr); n > 0 {
		return masked, n
	}
	return s, 0
}

// hiddenAt returns the length of the hidden character or of the ANSI sequence (ECMA-48, CSI) at i, and 0 where there is
// none. U+0013 marks a cut and is not hidden.
func hiddenAt(s string, i int) int {
	c := s[i]
	switch {
	case c >= 0x20 && c < 0x7f || c >= '\t' && c <= '\r' || c == 0x13:
		return 0
	case c == 0x1b && i+1 < len(s) && s[i+1] == '[':
		n := 2
		for i+n < len(s) && s[i+n] >= 0x20 && s[i+n] < 0x40 {
			n++
		}
		if i+n < len(s) && s[i+n] >= 0x40 && s[i+n] < 0x7f {
			n++
		}
		return n
	case c < 0x80:
		return 1
	}
	if r, n := utf8.DecodeRuneInString(s[i:]); Hidden(r) {
		return n
	}
	return 0
}

// Hidden reports whether a character shows nothing, so that texts for readers are without it: Unicode's
// Default_Ignorable_Code_Point, and the C0 and C1 controls except line feed and tab. Joiners and variation selectors are among
// them, which splits a joined emoji into its parts.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xad:
		return true
	case r < 0x34f:
		return false
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f, r == 0x3164:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfff8:
		return true
	}
	return r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}

// blankAt returns the length of the blank at i, in bytes, and 0 where there is none. Line ends are not blanks.
func blankAt(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	if s[i] < 0x80 {
		if s[i] == ' ' || s[i] == '\t' || s[i] == '\v' || s[i] == '\f' {
			return 1
		}
		return 0
	}
	if r, n := utf8.DecodeRuneInString(s[i:]); isWideBlank(r) {
		return n
	}
	return 0
}

// blankBefore is blankAt for the blank that ends at i.
func blankBefore(s string, i int) int {
	if i == 0 {
		return 0
	}
	if s[i-1] < 0x80 {
		return blankAt(s, i-1)
	}
	if r, n := utf8.DecodeLastRuneInString(s[:i]); isWideBlank(r) {
		return n
	}
	return 0
}

func isWideBlank(r rune) bool {
	return r == 0xa0 || r == 0x1680 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f || r == 0x3000
}
