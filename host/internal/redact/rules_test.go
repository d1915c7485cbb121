package redact

import (
	"regexp"
	"strings"
	"testing"
)

func extend(t *testing.T, user User) *Redactor {
	t.Helper()
	r, err := Extend(DefaultRules(), user)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAUsersRulesMaskMore(t *testing.T) {
	r := extend(t, User{
		Headers: []string{"X-Ticket"},
		Keys:    []string{"member_no", "token_count", "x"},
		Values:  []UserValue{{ID: "ticket", Pattern: `TKT-\d{4}`, Needs: []string{"TKT-"}}},
	})
	for in, want := range map[string]string{
		`{"memberNo":"7","MEMBER_NO":"8","oldMemberNo":"9","no":"1"}`: `{"memberNo":"[masked]","MEMBER_NO":"[masked]","oldMemberNo":"[masked]","no":"1"}`,
		`{"token_count":12}`:  `{"token_count":[masked]}`, // though it ends in an innocent word
		`{"x":"1","ax":"2"}`:  `{"x":"[masked]","ax":"2"}`,
		"TKT-1234 and TKT-12": "[masked] and TKT-12",
	} {
		if got, _ := r.Text(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if h := map[string]string{"x-ticket": "7"}; r.Headers(h) != 1 || h["x-ticket"] != "[masked]" {
		t.Errorf("the header: %v", h)
	}
	if Default().SecretHeader("X-Ticket") {
		t.Error("one person's rules became everybody's")
	}
}

func TestAUsersRuleThatFindsTheMaskLeavesIt(t *testing.T) {
	for pattern, want := range map[string]string{
		`[a-z]{6}`:   "[masked] [masked]=[masked]",
		`\S+`:        "[masked] [masked]",
		`mask`:       "planet secret=[masked]",
		`[^ ]*\]`:    "planet [masked]",
		`=[^ ]+`:     "planet secret[masked]",
		`\w+=`:       "planet [masked][masked]",
		`.*`:         "",
		`.+`:         "[masked]",
		`ed\]|plane`: "[masked]t secret=[masked]",
	} {
		r, err := Extend(DefaultRules(), User{Values: []UserValue{{ID: "odd", Pattern: pattern}}})
		if err != nil {
			continue
		}
		got, _ := r.Text("planet secret=hunter2")
		if got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
		if again, n := r.Text(got); again != got || n != 0 {
			t.Errorf("%s: not idempotent: %s, then %s (%d)", pattern, got, again, n)
		}
	}
}

func TestARuleThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	value := func(v UserValue) User { return User{Values: []UserValue{v}} }
	for want, user := range map[string]User{
		`headers: "x ticket" is not a valid header name; write it as in a request, without the colon`:                                                                {Headers: []string{"x ticket"}},
		`keys: "42" is not a valid key name; it needs a letter`:                                                                                                      {Keys: []string{"42"}},
		`keys: "contraseña" is not a valid key name, which may only use the letters a to z; write a pattern under [[redact.values]] instead`:                         {Keys: []string{"contraseña"}},
		`values: rule 1 has no id; add one, which --explain shows`:                                                                                                   value(UserValue{Pattern: "x"}),
		`values: rule "jwt" already exists; give this one another id`:                                                                                                value(UserValue{ID: "jwt", Pattern: "x"}),
		`values: rule "a": it has no pattern; add a regular expression that matches its secrets`:                                                                     value(UserValue{ID: "a"}),
		"values: rule \"a\": its pattern is invalid (error parsing regexp: missing closing ): `(`); patterns are RE2, see https://github.com/google/re2/wiki/Syntax": value(UserValue{ID: "a", Pattern: "("}),
		`values: rule "a": needs has an empty string, which every text contains; remove it`:                                                                          value(UserValue{ID: "a", Pattern: "x", Needs: []string{""}}),
	} {
		if _, err := Extend(DefaultRules(), user); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for _, pattern := range []string{"a*", "a?", "^", `\b`, "(a|b*)", "a{0,3}", "(?:)", "(a?)+", "$", "x*y*"} {
		if _, err := Extend(DefaultRules(), value(UserValue{ID: "a", Pattern: pattern})); err == nil || !strings.Contains(err.Error(), "matches the empty string") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{"a+", "a", `\bx`, "(a|b)", "a{1,3}", "a*b", "[^a]", ".", "(?i)x"} {
		if _, err := Extend(DefaultRules(), value(UserValue{ID: "a", Pattern: pattern})); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	many := User{}
	for i := range maxRules {
		many.Values = append(many.Values, UserValue{ID: strings.Repeat("x", i+1), Pattern: "x"})
	}
	if _, err := Extend(DefaultRules(), many); err == nil || !strings.Contains(err.Error(), "512 rules are too many, the limit is ") {
		t.Errorf("too many rules: %v", err)
	}
}

func TestEveryShippedRuleCompilesAndHasIDAndNeeds(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range DefaultRules().Values {
		if v.ID == "" || seen[v.ID] {
			t.Errorf("the id %q is missing or there twice", v.ID)
		}
		seen[v.ID] = true
		if _, err := compile(v); err != nil {
			t.Errorf("%s: %v", v.ID, err)
		}
		if v.Unless != "" {
			regexp.MustCompile(v.Unless)
		}
		if len(v.Needs) == 0 && !v.Luhn {
			t.Errorf("%s is tried on every text", v.ID)
		}
	}
}
