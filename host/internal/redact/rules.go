package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"tidemark.dev/tidemark/protocol"
)

// Rules is the shape of protocol/redaction.json.
type Rules struct {
	// Mask stands in place of a secret.
	Mask string `json:"mask"`
	// Headers are the lower-case names of headers whose values are secret.
	Headers []string `json:"headers"`
	Keys    struct {
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
		// Phrases: a key is secret when it contains these words in a row.
		Phrases []string `json:"phrases"`
		// InnocentLast: a key that ends in one of these words is no secret (password_length).
		InnocentLast []string `json:"innocent_last"`
		// Stems: a key that contains none of these is no secret; only for speed.
		Stems []string `json:"stems"`
		// Prose: after `password:` in free text these words begin a sentence, not a secret.
		Prose []string `json:"prose"`
		// Placeholders stand where a secret would, and are none: null, string, [REDACTED].
		Placeholders []string `json:"placeholders"`
		// Variables begin the name of a variable, which stands where its value would.
		Variables []string `json:"variables"`
		// Open: an object under a key that ends in one of these words is looked into, not masked whole.
		Open []string `json:"open"`
		// Schemes: after `Authorization:` these words belong to the secret that follows.
		Schemes []string `json:"schemes"`
		// LineSchemes are schemes whose parameters go on to the line's end.
		LineSchemes []string `json:"line_schemes"`
	} `json:"keys"`
	// Values are secrets that are known by their own looks.
	Values []ValueRule `json:"values"`
}

// ValueRule is a secret that is known by its own looks.
type ValueRule struct {
	ID string `json:"id"`
	// Needs are literals of which a text must contain one, else the pattern is not tried. Without any
	// it always is.
	Needs []string `json:"needs"`
	// Pattern is a regular expression that RE2 and JavaScript read alike.
	Pattern string `json:"pattern"`
	// Unless is a pattern too: what was found and matches it is no secret.
	Unless string `json:"unless"`
	// Keep begins and After ends what was found, and both stay; they may name groups of the pattern.
	Keep  string `json:"keep"`
	After string `json:"after"`
	// Luhn asks for the check digit of a payment card.
	Luhn bool `json:"luhn"`
}

// User is what a person adds to the rules, as it stands in a settings file.
type User struct {
	// Headers are names of headers whose values are secret.
	Headers []string `toml:"headers"`
	// Keys are names of keys whose values are secret: a key that contains their words in a row is.
	Keys []string `toml:"keys"`
	// Values are secrets that are known by their own looks.
	Values []UserValue `toml:"values"`
}

// UserValue is a [ValueRule] of a person.
type UserValue struct {
	// ID names the rule where it is said what masked something.
	ID string `toml:"id"`
	// Pattern is a regular expression (RE2); all of what it finds is masked.
	Pattern string `toml:"pattern"`
	// Needs are literals of which a text must contain one, else the pattern is not tried.
	Needs []string `toml:"needs"`
}

// DefaultRules are those that Tidemark comes with.
func DefaultRules() Rules {
	var rules Rules
	if err := json.Unmarshal(protocol.RedactionRules, &rules); err != nil {
		panic(err) // the rules are part of the program; a test reads them
	}
	return rules
}

// Default is made from the rules that Tidemark comes with.
func Default() *Redactor {
	r, err := Extend(DefaultRules(), User{})
	if err != nil {
		panic(err) // the rules are part of the program; a test reads them
	}
	return r
}

// Extend makes a redactor of rules and what a person adds to them. The error says which of the
// person's rules cannot be used, and what to do.
func Extend(base Rules, user User) (*Redactor, error) {
	k := &base.Keys
	r := &Redactor{
		mask:         base.Mask,
		headers:      set(base.Headers),
		any:          set(k.Any),
		last:         set(k.Last),
		maybe:        set(k.Maybe),
		innocentLast: set(k.InnocentLast),
		prose:        set(k.Prose),
		placeholders: set(k.Placeholders),
		schemes:      set(k.Schemes),
		lineSchemes:  set(k.LineSchemes),
		open:         set(k.Open),
		variables:    k.Variables,
		phraseLast:   map[string]bool{},
		anyEnd:       k.AnyEnd,
		lastEnd:      k.LastEnd,
		stems:        slices.Clone(k.Stems),
	}
	for _, p := range k.Phrases {
		r.phrases = append(r.phrases, " "+p+" ")
		r.phraseLast[p[strings.LastIndexByte(p, ' ')+1:]] = true
		r.any[strings.ReplaceAll(p, " ", "")] = true
	}
	for _, v := range base.Values {
		rule, err := compile(v)
		if err != nil {
			return nil, fmt.Errorf("redaction rules: value %q: %w", v.ID, err)
		}
		r.values = append(r.values, rule)
	}
	if err := r.add(user); err != nil {
		return nil, err
	}
	r.needs = newNeeds(r.values)
	return r, nil
}

func (r *Redactor) add(user User) error {
	for _, name := range user.Headers {
		if !headerName.MatchString(name) {
			return fmt.Errorf("headers: %q is no name of a header; write it as in a request, without the colon", name)
		}
		r.headers[strings.ToLower(name)] = true
	}
	for _, key := range user.Keys {
		words, err := userWords(key)
		if err != nil {
			return err
		}
		r.named = append(r.named, " "+strings.Join(words, " ")+" ")
		r.stems = append(r.stems, words[0])
	}
	for i, v := range user.Values {
		if v.ID == "" {
			return fmt.Errorf("values: rule %d has no id; give it one, it is shown as what masked something", i+1)
		}
		if slices.ContainsFunc(r.values, func(have valueRule) bool { return have.ID == v.ID }) {
			return fmt.Errorf("values: there is a rule %q already; give this one another id", v.ID)
		}
		rule, err := compile(ValueRule{ID: v.ID, Needs: v.Needs, Pattern: v.Pattern})
		if err != nil {
			return fmt.Errorf("values: rule %q: %w", v.ID, err)
		}
		r.values = append(r.values, rule)
	}
	if len(r.values) > maxRules {
		return fmt.Errorf("values: %d rules are too many, there is room for %d; join some by | in one pattern", len(user.Values), maxRules-len(r.values)+len(user.Values))
	}
	return nil
}

// headerName is a token of RFC 9110, section 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func userWords(key string) ([]string, error) {
	if strings.ContainsFunc(key, func(c rune) bool { return c >= 0x80 }) {
		return nil, fmt.Errorf("keys: %q is no name of a key; keys are looked for in the letters a to z, write a pattern under [[redact.values]] instead", key)
	}
	words := keyWords(key)
	if len(words) == 0 {
		return nil, fmt.Errorf("keys: %q is no name of a key; it needs a letter", key)
	}
	return words, nil
}

// compile reads the patterns of a rule.
func compile(v ValueRule) (valueRule, error) {
	c := valueRule{ValueRule: v}
	if v.Pattern == "" {
		return c, errors.New("it has no pattern; write what its secrets look like, as a regular expression")
	}
	var err error
	if c.find, err = regexp.Compile(v.Pattern); err != nil {
		return c, fmt.Errorf("its pattern cannot be read (%w); patterns are RE2, see https://github.com/google/re2/wiki/Syntax", err)
	}
	tree, err := syntax.Parse(v.Pattern, syntax.Perl)
	if err != nil {
		return c, err
	}
	if canBeEmpty(tree) {
		return c, errors.New("its pattern matches the empty string, and so would mask everywhere; let it need at least one character")
	}
	if slices.Contains(v.Needs, "") {
		return c, errors.New("needs has an empty text, which every text contains; remove it")
	}
	if v.Unless != "" {
		if c.unless, err = regexp.Compile(v.Unless); err != nil {
			return c, err
		}
	}
	c.keep, c.after = expandable(v.Keep), expandable(v.After)
	return c, nil
}

// canBeEmpty says whether an expression can match without taking a character, at whatever place.
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

// expandable turns $1$2 into ${1}${2}: JavaScript reads the first, Go wants the second.
func expandable(s string) string { return groupRef.ReplaceAllString(s, "$${$1}") }

var groupRef = regexp.MustCompile(`\$(\d)`)

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
