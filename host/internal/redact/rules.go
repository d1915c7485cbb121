package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/protocol"
)

// Rules is the shape of protocol/redaction.json.
type Rules struct {
	// Mask replaces a secret.
	Mask string `json:"mask"`
	// Headers lists the lower-case names of headers with secret values.
	Headers []string `json:"headers"`
	// ListHeaders lists the lower-case names of headers that list names, of which clients misuse one for a token.
	ListHeaders []string `json:"list_headers"`
	Keys        struct {
		// Any: a key is secret when one of its words is here.
		Any []string `json:"any"`
		// AnyEnd: a key is secret when one of its words ends like this (newpassword).
		AnyEnd []string `json:"any_end"`
		// Last: a key is secret when its last word is here. Weak evidence in free text.
		Last []string `json:"last"`
		// LastEnd: a key is secret when its last word ends like this. Weak evidence in free text.
		LastEnd []string `json:"last_end"`
		// Maybe: a key whose last word is here is secret when its value looks like one, anywhere.
		Maybe []string `json:"maybe"`
		// Foreign: a key is secret when one of its words, in lower case, ends like this. Weak evidence in free text.
		Foreign []string `json:"foreign"`
		// Tokens: an object under a key that is maybe secret is, when a value under one of these keys looks like a token.
		Tokens []string `json:"tokens"`
		// Counted: a number after a key that ends like this is a count.
		Counted []string `json:"counted"`
		// Phrases: a key is secret when it contains these words in a row.
		Phrases []string `json:"phrases"`
		// InnocentLast: a key that ends in one of these words is not secret (password_length).
		InnocentLast []string `json:"innocent_last"`
		// Public: these keys, in lower case, are not secret. They are standard headers that say what is allowed.
		Public []string `json:"public"`
		// Stems: a key that contains none of these is not secret. They only save time.
		Stems []string `json:"stems"`
		// Prose: after `password:` in free text these words begin a sentence, not a secret.
		Prose []string `json:"prose"`
		// Words: where a secret would be, a message of these words says what is wrong with it ("is too short").
		Words []string `json:"words"`
		// Placeholders appear in place of a secret: null, string, [REDACTED].
		Placeholders []string `json:"placeholders"`
		// Variables begin the name of a variable that appears in place of its value.
		Variables []string `json:"variables"`
		// Open: an object under a key that ends in one of these words is searched, not masked as a whole.
		Open []string `json:"open"`
		// SchemaTypes: an object with such a type describes a value and does not have one.
		SchemaTypes []string `json:"schema_types"`
		// CodeFiles: a key that ends in one of these is the name of a file. What follows it is secret when it looks like a secret.
		CodeFiles []string `json:"code_files"`
		// Schemes: after `Authorization:` these words belong to the secret that follows.
		Schemes []string `json:"schemes"`
		// LineSchemes are schemes whose parameters extend to the end of the line.
		LineSchemes []string `json:"line_schemes"`
	} `json:"keys"`
	// Values are secrets recognized by their format.
	Values []ValueRule `json:"values"`
}

// ValueRule recognizes a secret by its format.
type ValueRule struct {
	ID string `json:"id"`
	// Needs are literals. The pattern is tried only on a text that contains one of them. Without any, it is tried on
	// every text.
	Needs []string `json:"needs"`
	// Pattern is a regular expression that means the same in RE2 and JavaScript.
	Pattern string `json:"pattern"`
	// Unless is a pattern of matches that are not secret.
	Unless string `json:"unless"`
	// Keep and After are the parts at the beginning and end of a match that are not masked. They may name groups of
	// the pattern.
	Keep  string `json:"keep"`
	After string `json:"after"`
	// Base64 requires a secret in the JSON that the match encodes.
	Base64 bool `json:"base64"`
	// Luhn requires the check digit of a payment card.
	Luhn bool `json:"luhn"`
}

// User holds the rules that a user adds in a settings file.
type User struct {
	// Headers lists the names of headers with secret values.
	Headers []string `toml:"headers"`
	// Keys lists the names of keys with secret values. A key that contains the words of a name in a row is secret.
	Keys []string `toml:"keys"`
	// Values are secrets recognized by their format.
	Values []UserValue `toml:"values"`
}

// UserValue is a [ValueRule] of a user.
type UserValue struct {
	// ID names the rule in explanations.
	ID string `toml:"id"`
	// Pattern is a regular expression (RE2). The whole match is masked.
	Pattern string `toml:"pattern"`
	// Needs are literals. The pattern is tried only on a text that contains one of them.
	Needs []string `toml:"needs"`
}

// DefaultRules returns the built-in rules.
func DefaultRules() Rules {
	rules := read[Rules](protocol.RedactionRules)
	rules.Values = append(rules.Values, read[Rules](protocol.GitleaksRules).Values...)
	return rules
}

// OwnValues returns the built-in rules about formats without those of gitleaks.
func OwnValues() []ValueRule { return read[Rules](protocol.RedactionRules).Values }

func read[T any](data []byte) (v T) {
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err) // the rules are part of the program; a test reads them
	}
	return v
}

// Default returns a redactor with the built-in rules.
func Default() *Redactor {
	r, err := Extend(DefaultRules(), User{})
	if err != nil {
		panic(err) // the rules are part of the program; a test reads them
	}
	return r
}

// Extend returns a redactor with base and the user's rules. Its error says which of the user's rules is invalid, and
// what to do.
func Extend(base Rules, user User) (*Redactor, error) {
	k := &base.Keys
	r := &Redactor{
		mask:         base.Mask,
		headers:      set(base.Headers),
		any:          set(k.Any),
		last:         set(k.Last),
		maybe:        set(k.Maybe),
		innocentLast: set(k.InnocentLast),
		public:       set(k.Public),
		prose:        set(k.Prose),
		words:        set(k.Words),
		placeholders: set(k.Placeholders),
		schemes:      set(k.Schemes),
		lineSchemes:  set(k.LineSchemes),
		open:         set(k.Open),
		variables:    k.Variables,
		phraseLast:   map[string]bool{},
		anyEnd:       k.AnyEnd,
		counted:      k.Counted,
		lastEnd:      k.LastEnd,
		codeFiles:    k.CodeFiles,
		foreign:      k.Foreign,
		schemaTypes:  set(k.SchemaTypes),
		tokens:       set(k.Tokens),
		listHeaders:  set(base.ListHeaders),
	}
	for _, stem := range k.Stems {
		r.stems.add(stem)
	}
	for _, p := range k.Phrases {
		r.phrases = append(r.phrases, " "+p+" ")
		r.phraseLast[p[strings.LastIndexByte(p, ' ')+1:]] = true
		if joined := strings.ReplaceAll(p, " ", ""); !r.maybe[joined] {
			r.any[joined] = true
		}
	}
	for _, v := range base.Values {
		r.values = append(r.values, builtIn(v))
	}
	if err := r.add(user); err != nil {
		return nil, err
	}
	r.needs = newNeeds(r.values)
	return r, nil
}

func (r *Redactor) add(user User) error {
	for _, name := range user.Headers {
		if !headerName().MatchString(name) {
			return fmt.Errorf("headers: %q is not a valid header name; write it as in a request, without the colon", name)
		}
		r.headers[strings.ToLower(name)] = true
	}
	for _, key := range user.Keys {
		words, err := userWords(key)
		if err != nil {
			return err
		}
		r.named = append(r.named, " "+strings.Join(words, " ")+" ")
		r.stems.add(words[0])
	}
	for i, v := range user.Values {
		if v.ID == "" {
			return fmt.Errorf("values: rule %d has no id; add one, which --explain shows", i+1)
		}
		if slices.ContainsFunc(r.values, func(have valueRule) bool { return have.ID == v.ID }) {
			return fmt.Errorf("values: rule %q already exists; give this one another id", v.ID)
		}
		rule, err := compile(ValueRule{ID: v.ID, Needs: v.Needs, Pattern: v.Pattern})
		if err != nil {
			return fmt.Errorf("values: rule %q: %w", v.ID, err)
		}
		r.values = append(r.values, rule)
	}
	if len(r.values) > maxRules {
		return fmt.Errorf("values: %d rules are too many, the limit is %d; join some with | into one pattern", len(user.Values), maxRules-len(r.values)+len(user.Values))
	}
	return nil
}

// headerName is a token of RFC 9110, section 5.6.2.
var headerName = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func userWords(key string) ([]string, error) {
	if strings.ContainsFunc(key, func(c rune) bool { return c >= 0x80 }) {
		return nil, fmt.Errorf("keys: %q is not a valid key name, which may only use the letters a to z; write a pattern under [[redact.values]] instead", key)
	}
	words := keyWords(key)
	if len(words) == 0 {
		return nil, fmt.Errorf("keys: %q is not a valid key name; it needs a letter", key)
	}
	return words, nil
}

// builtIn returns a rule of the program, which is compiled when it is first tried. A test compiles all.
func builtIn(v ValueRule) valueRule {
	return valueRule{
		ValueRule: v,
		find:      sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(v.Pattern) }),
		unless:    sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(v.Unless) }),
		keep:      expandable(v.Keep),
		after:     expandable(v.After),
	}
}

// compile compiles the pattern of a user's rule.
func compile(v ValueRule) (valueRule, error) {
	c := valueRule{ValueRule: v}
	if v.Pattern == "" {
		return c, errors.New("it has no pattern; add a regular expression that matches its secrets")
	}
	find, err := regexp.Compile(v.Pattern)
	if err != nil {
		return c, fmt.Errorf("its pattern is invalid (%w); patterns are RE2, see https://github.com/google/re2/wiki/Syntax", err)
	}
	tree, err := syntax.Parse(v.Pattern, syntax.Perl)
	if err != nil {
		return c, err
	}
	if canBeEmpty(tree) {
		return c, errors.New("its pattern matches the empty string and would mask everywhere; make it require at least one character")
	}
	if slices.Contains(v.Needs, "") {
		return c, errors.New("needs has an empty string, which every text contains; remove it")
	}
	c.find = func() *regexp.Regexp { return find }
	return c, nil
}

// canBeEmpty reports whether an expression can match without consuming a character, at any position.
func canBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpNoMatch, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return canBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || canBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !canBeEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, canBeEmpty)
	}
	return true // empty, anchors and boundaries, *, ?
}

// expandable turns $1$2 into ${1}${2}: JavaScript reads the first, Go requires the second.
func expandable(s string) string { return groupRef().ReplaceAllString(s, "$${$1}") }

var groupRef = lazyregexp.New(`\$(\d)`)

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
