// Package tokens estimates how many tokens a model needs for a text, without a tokenizer.
//
// It guarantees: the estimate is that of the encoding o200k within 3 % over many answers and within 10 % on each, which the
// benchmark's tests check; the time grows with the length of the text alone. It is pure.
package tokens

import "unicode/utf8"

// Estimate returns about how many tokens a text takes.
//
// Tokenizers split a text into pieces first: words, up to three digits, punctuation, white space. No token crosses a piece.
// Estimate splits a text as o200k does, and adds up the average cost of pieces of each class and length ([Costs]).
func Estimate[T ~string | ~[]byte](text T) int {
	sum := 0
	var r runs
	for i := 0; i < len(text); {
		class, n, end := next(text, i)
		class = classOf(&r, text, class, i)
		switch {
		case class >= Classes:
			sum += max(hundred, n*perRune[class-Classes]/10)
		case n <= MaxLength:
			sum += int(Costs[class][n])
		case class == blanks || class == repeated:
			sum += int(Costs[class][MaxLength]) + 2*(n-MaxLength)
		default:
			sum += int(Costs[class][MaxLength]) + 20*(n-MaxLength)
		}
		i = end
	}
	return (sum + hundred/2) / hundred
}

// Piece is a part of a text that is turned into tokens on its own.
type Piece struct {
	Text string
	// Class and Length select its cost. Length is a number of letters, digits or bytes.
	Class, Length int
}

// Pieces returns the pieces of a text whose costs are fitted: all but words in other scripts than Latin.
func Pieces(text string) []Piece {
	var list []Piece
	var r runs
	for i := 0; i < len(text); {
		class, n, end := next(text, i)
		class = classOf(&r, text, class, i)
		if class < Classes {
			list = append(list, Piece{text[i:end], class, min(n, MaxLength)})
		}
		i = end
	}
	return list
}

// hundred is the cost of one token.
const hundred = 100

// Classes of pieces. Words come first, by what stands before them in the same piece, their case, and whether their letters
// look like a word's.
const (
	wordClasses = 3 * 3 * 2

	digits = wordClasses + iota - 1
	blanks
	marks    // punctuation
	quotes   // punctuation with a quote, as in JSON
	repeated // one mark, several times
	random   // the letters of a hash, an id, a key
	// Classes is the number of classes with a fitted cost.
	Classes
)

// MaxLength is the greatest length whose cost is fitted. Beyond it each letter adds the same.
const MaxLength = 24

// What stands before the letters of a word in its piece.
const (
	nothing = iota
	blank
	mark
)

// The case of a word.
const (
	lowerCase = iota
	titleCase
	upperCase
)

// Scripts have a cost for each character, because their words are not in an answer often enough to fit it.
const (
	otherScript = Classes + iota
	cyrillic
	greek
	hangul
	han
	traditional // a character that simplified Chinese does not have
	kana
	emoji
	accented // words with letters up to U+00FF
	extended // with others of the Latin script
	vietnamese
)

// perRune is the cost of a character of a script, in thousandths: averages of messages in its languages.
var perRune = [...]int{otherScript - Classes: 390, cyrillic - Classes: 270, greek - Classes: 440, hangul - Classes: 620, han - Classes: 620, traditional - Classes: 1150, kana - Classes: 600, emoji - Classes: 1900, accented - Classes: 280, extended - Classes: 440, vietnamese - Classes: 300}

// onlyTraditional are the most frequent characters that only traditional Chinese has. Few of its words are one token.
const onlyTraditional = "個們來時為國會發後過這說對學現開關問題請無與從當還進經動機電長點實應車網頁購買賣單訂選擇項錄資訊碼號帳戶設備務處儲傳輸連線絡錯誤確認檢測試驗證變數據庫圖書館語雙種類結構師業員產價錢運貨" +
	"東門間聞聽見親愛樂舉興讀寫頭腦臺灣萬億兩幾該裡邊遠達歷歲壓縮擴縣總統計劃區體專導領層屬極標誌顯夾檔圍態報衝損壞維護團隊組織績續終級約紅綠藍黃龍馬鳥魚麼嗎讓給場權義條環獨難離雖響顧願飛鐘"

// traditionals is that set.
var traditionals = func() map[rune]bool {
	set := map[rune]bool{}
	for _, c := range onlyTraditional {
		set[c] = true
	}
	return set
}()

// kinds of bytes.
const (
	isMark = iota
	isLower
	isVowel // and lower case
	isUpper
	isDigit
	isBlank
	isBreak // the end of a line
	isWide  // part of a character outside of ASCII
)

var kinds = func() (k [256]byte) {
	for c := range k {
		switch {
		case c >= utf8.RuneSelf:
			k[c] = isWide
		case c >= 'a' && c <= 'z':
			k[c] = isLower
		case c >= 'A' && c <= 'Z':
			k[c] = isUpper
		case c >= '0' && c <= '9':
			k[c] = isDigit
		case c == ' ' || c == '\t':
			k[c] = isBlank
		case c == '\n' || c == '\r':
			k[c] = isBreak
		}
	}
	for _, c := range "aeiouy" {
		k[c] = isVowel
	}
	return k
}()

// next returns the class and length of the piece at a place, and its end.
func next[T ~string | ~[]byte](s T, i int) (class, length, end int) {
	before, from := nothing, i
	switch kinds[s[i]] {
	case isLower, isVowel, isUpper:
		return word(s, i, nothing)
	case isDigit:
		for end = i + 1; end < len(s) && end < i+3 && kinds[s[end]] == isDigit; end++ {
		}
		return digits, end - i, end
	case isBlank, isBreak:
		last := -1 // the last end of a line in the white space
		for end = i; end < len(s) && (kinds[s[end]] == isBlank || kinds[s[end]] == isBreak); end++ {
			if kinds[s[end]] == isBreak {
				last = end
			}
		}
		switch {
		case last >= 0:
			return blanks, last + 1 - i, last + 1
		case end == len(s):
			return blanks, end - i, end
		case end > i+1:
			return blanks, end - 1 - i, end - 1 // the last blank belongs to what follows
		case kinds[s[end]] == isDigit:
			return blanks, 1, end
		}
		before, from = blank, end
	case isMark:
		if i+1 < len(s) && isLetter(s, i+1) {
			before, from = mark, i+1
		}
	}
	if from < len(s) && isLetter(s, from) {
		if kinds[s[from]] == isWide {
			return wide(s, from, before)
		}
		return word(s, from, before)
	}
	return punctuation(s, i)
}

// isLetter says whether a letter begins at a place, or another character that forms words.
func isLetter[T ~string | ~[]byte](s T, i int) bool {
	switch kinds[s[i]] {
	case isLower, isVowel, isUpper:
		return true
	case isWide:
		return !isSymbol(s, i)
	}
	return false
}

// isSymbol says whether the character at a place is punctuation outside of ASCII: arrows, dashes, quotes, bullets.
func isSymbol[T ~string | ~[]byte](s T, i int) bool {
	switch s[i] {
	case 0xe2: // U+2000 to U+2FFF
		return true
	case 0xc2: // U+0080 to U+00BF
		return true
	case 0xc3: // × and ÷
		return i+1 < len(s) && (s[i+1] == 0x97 || s[i+1] == 0xb7)
	case 0xe3: // U+3000 to U+303F: the punctuation of Chinese and Japanese
		return i+1 < len(s) && s[i+1] == 0x80
	case 0xef: // U+FF00 to U+FF0F, and variation selectors
		return i+1 < len(s) && (s[i+1] == 0xbc || s[i+1] == 0xb8)
	}
	return false
}

// word returns the piece of a word that begins with a letter of ASCII: capitals and small letters in this order.
func word[T ~string | ~[]byte](s T, from, before int) (class, length, end int) {
	for end = from; end < len(s) && kinds[s[end]] == isUpper; end++ {
	}
	capitals := end - from
	vowels, run, longest, bytes, script := 0, 0, 0, 0, 0
	for i := from; i < end; i++ {
		if kinds[s[i]|0x20] == isVowel {
			vowels, run = vowels+1, 0
		} else if run++; run > longest {
			longest = run
		}
	}
	for ; end < len(s); end++ {
		switch kinds[s[end]] {
		case isVowel:
			vowels, run = vowels+1, 0
			continue
		case isLower:
			if run++; run > longest {
				longest = run
			}
			continue
		case isWide:
			if scriptAt(s, end) < 0 && end+width(s, end) <= len(s) && !isSymbol(s, end) { // such as é and ü
				script = max(script, latinAt(s, end))
				bytes += width(s, end) - 1
				end += width(s, end) - 1
				continue
			}
		}
		break
	}
	if script > 0 {
		return script, end - from - bytes, end
	}
	kind := lowerCase
	switch {
	case capitals > 0 && capitals == end-from:
		kind = upperCase
	case capitals > 0:
		kind = titleCase
	}
	class = (before*3 + kind) * 2
	if longest >= 4 || vowels == 0 && end-from > 2 {
		class++
	}
	return class, end - from, end
}

// wide returns the piece of a word in another script, or of one that begins with an accent.
func wide[T ~string | ~[]byte](s T, from, before int) (class, length, end int) {
	script := scriptAt(s, from)
	if script < 0 {
		class, length, end = word(s, min(from+width(s, from), len(s)), before)
		return max(class, latinAt(s, from)), length + 1, end
	}
	for end = from; end < len(s) && kinds[s[end]] == isWide && !isSymbol(s, end) && scriptAt(s, end) == script; {
		end += width(s, end)
		length++
	}
	return script, length, min(end, len(s))
}

// scriptAt returns the script of the character at a place, -1 for Latin letters.
func scriptAt[T ~string | ~[]byte](s T, i int) int {
	switch c := s[i]; {
	case c >= 0xc3 && c <= 0xc6:
		return -1
	case c == 0xe1 && i+1 < len(s) && (s[i+1] == 0xba || s[i+1] == 0xbb): // those of Vietnamese, with two accents
		return -1
	case c == 0xce || c == 0xcf:
		return greek
	case c >= 0xd0 && c <= 0xd3:
		return cyrillic
	case c >= 0xea && c <= 0xed:
		return hangul
	case c == 0xe3:
		return kana
	case c > 0xe3 && c <= 0xe9:
		if r, _ := utf8.DecodeRuneInString(string(s[i:min(i+3, len(s))])); traditionals[r] {
			return traditional
		}
		return han
	case c >= 0xf0:
		return emoji
	}
	return otherScript
}

// latinAt returns the script of a Latin letter outside of ASCII.
func latinAt[T ~string | ~[]byte](s T, i int) int {
	switch s[i] {
	case 0xc3:
		return accented
	case 0xe1:
		return vietnamese
	}
	return extended
}

// width returns the number of bytes of the character at a place.
func width[T ~string | ~[]byte](s T, i int) int {
	switch c := s[i]; {
	case c >= 0xf0:
		return 4
	case c >= 0xe0:
		return 3
	case c >= 0xc0:
		return 2
	}
	return 1
}

// punctuation returns the piece of marks, with the blank before and the ends of lines behind them.
func punctuation[T ~string | ~[]byte](s T, i int) (class, length, end int) {
	end = i
	if s[end] == ' ' {
		end++
	}
	class = marks
	first, same := end, true
	for end < len(s) && (kinds[s[end]] == isMark || kinds[s[end]] == isWide && isSymbol(s, end)) {
		if s[end] == '"' {
			class = quotes
		}
		same = same && s[end] == s[first]
		if length++; kinds[s[end]] == isWide {
			length++
		}
		end += width(s, end)
	}
	if end == first { // a blank that no word follows
		return blanks, 1, min(max(end, i+1), len(s))
	}
	if same && length > 2 {
		class = repeated
	}
	for end < len(s) && (kinds[s[end]] == isBreak || s[end] == '/') {
		end++
	}
	return class, length, min(end, len(s))
}

// runs finds the parts of a text that look random: hashes, ids, keys. Their letters make no words.
type runs struct {
	end   int  // of the run of letters and digits that was read last
	chaos bool // whether that one looks random
}

const (
	// minRandom is the least length of such a part, in bytes.
	minRandom = 16
	// maxMean is the greatest average length of its pieces, which begin where letters and digits change, and at a
	// capital after a small letter.
	maxMean = 3
)

// classOf returns the class of a piece, which differs for a word in such a part.
func classOf[T ~string | ~[]byte](r *runs, s T, class, from int) int {
	if class >= wordClasses {
		return class
	}
	if kinds[s[from]] == isMark || kinds[s[from]] == isBlank {
		from++
	}
	if from >= r.end {
		readRun(r, s, from)
	}
	if r.chaos {
		return random
	}
	return class
}

// readRun reads the run of letters and digits that begins at a place. Hyphens and underscores do not end it.
func readRun[T ~string | ~[]byte](r *runs, s T, from int) {
	letters, pieces, last := 0, 0, byte(isMark)
	for r.end = from; r.end < len(s); r.end++ {
		kind := kinds[s[r.end]]
		switch {
		case kind == isVowel:
			kind = isLower
		case s[r.end] == '-' || s[r.end] == '_':
			last = isMark
			continue
		case kind != isLower && kind != isUpper && kind != isDigit:
			r.chaos = letters >= minRandom && letters <= maxMean*pieces
			return
		}
		if letters++; kind != last && (last != isUpper || kind != isLower) {
			pieces++
		}
		last = kind
	}
	r.chaos = letters >= minRandom && letters <= maxMean*pieces
}
