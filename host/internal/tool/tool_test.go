package tool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

type shared struct {
	Tab int `json:"tab,omitempty"`
}

type params struct {
	shared
	Ref   string   `json:"ref"`
	Count *int     `json:"count,omitempty"`
	Names []string `json:"names,omitempty"`
	Deep  struct {
		Flag bool `json:"flag"`
	} `json:"deep"`
}

type answer struct {
	tool.Quotes
	Ref  string
	Code usererr.Code
}

func (a *answer) Failed() usererr.Code { return a.Code }

type owner struct{ calls int }

func (o *owner) echo(_ context.Context, _ *checkpoint.Client, p params) (*answer, error) {
	o.calls++
	if p.Ref == "fails" {
		return nil, errors.New("it failed")
	}
	return &answer{Ref: p.Ref, Code: usererr.Code(strings.Join(p.Names, ""))}, nil
}

var echo = tool.New(tool.Definition{Name: "echo"}, (*owner).echo)

func TestMistakesNameTheArgumentAndWhatItTakes(t *testing.T) {
	for args, want := range map[string]string{
		`{"reff":"e1"}`:           `echo has no argument "reff"; it takes tab, ref, count, names, deep`,
		`{"ref":1}`:               "ref must be a string, not a number",
		`{"count":"x"}`:           "count must be a whole number, not a string",
		`{"count":1.5}`:           "count must be a whole number, not 1.5",
		`{"ref":[]}`:              "ref must be a string, not a list",
		`{"ref":{}}`:              "ref must be a string, not an object",
		`{"names":"x"}`:           "names must be a list, not a string",
		`{"tab":true}`:            "tab must be a whole number, not a boolean",
		`{"deep":{"flag":"yes"}}`: "flag must be true or false, not a string",
		`[]`:                      "echo takes one JSON object of arguments; it takes tab, ref, count, names, deep",
		`{} {}`:                   "echo takes one JSON object of arguments",
		`{"ref"`:                  "the arguments of echo are not JSON: unexpected EOF",
	} {
		o := &owner{}
		_, err := echo.Call(t.Context(), o, nil, []byte(args))
		if err == nil || err.Error() != want || usererr.CodeOf(err) != usererr.InvalidArgument || o.calls != 0 {
			t.Errorf("%s: %v after %d calls; want %s", args, err, o.calls, want)
		}
	}
}

// TestAMistakeNamesTheArgumentsOfTheSchema: others are for the user's own programs, which may pass them.
func TestAMistakeNamesTheArgumentsOfTheSchema(t *testing.T) {
	echo := tool.New(tool.Definition{Name: "echo", Arguments: `"ref":{"type":"string"}, "count":{"type":"integer"}`}, (*owner).echo)
	if _, err := echo.Call(t.Context(), &owner{}, nil, []byte(`{"bad":1}`)); err == nil || err.Error() != `echo has no argument "bad"; it takes ref, count` {
		t.Error(err)
	}
	if _, err := echo.Call(t.Context(), &owner{}, nil, []byte(`{"ref":"e1","tab":1}`)); err != nil {
		t.Error(err)
	}
}

func TestNoArgumentsAreEmptyOnes(t *testing.T) {
	for _, args := range []string{"", " ", "null", "{}"} {
		if _, err := echo.Call(t.Context(), &owner{}, nil, []byte(args)); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestAnAnswerThatQuotesIsMarkedAndAnErrorHasNone(t *testing.T) {
	got, err := echo.Call(t.Context(), &owner{}, nil, []byte(`{"ref":"e1"}`))
	if a, ok := got.(*answer); err != nil || !ok || a.Ref != "e1" || a.PageText != report.Untrusted {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := echo.Call(t.Context(), &owner{}, nil, []byte(`{"ref":"fails"}`)); got != nil || err == nil {
		t.Errorf("%#v %v", got, err) // no nil pointer inside an interface
	}
}

func TestAnAnswerSaysThatItWasNotDone(t *testing.T) {
	got, err := echo.Call(t.Context(), &owner{}, nil, []byte(`{"names":["action_","refused"]}`))
	if err != nil || tool.Failed(got) != usererr.ActionRefused {
		t.Errorf("%v: %+v", err, got)
	}
	if code := tool.Failed(&struct{}{}); code != "" {
		t.Errorf("an answer of another kind failed as %s", code)
	}
}

func TestToolsOfOneOwnerAreThoseOfAnother(t *testing.T) {
	type house struct{ of *owner }
	list := tool.In(tool.Act, tool.Of([]*tool.Tool[*owner]{echo}, func(h house) *owner { return h.of }))
	h := house{&owner{}}
	if _, err := list[0].Call(t.Context(), h, nil, nil); err != nil || h.of.calls != 1 {
		t.Errorf("%d calls, %v", h.of.calls, err)
	}
	if list[0].Name != "echo" || list[0].Set != tool.Act || echo.Set != "" {
		t.Errorf("%+v, %+v", list[0], echo)
	}
	if _, ok := list[0].Answer.(*answer); !ok {
		t.Errorf("%T", list[0].Answer)
	}
}

func TestSetsAreCheckedAndPutInOrder(t *testing.T) {
	got, err := tool.CheckSets([]string{tool.Debug, tool.Observe, tool.Debug})
	if err != nil || !slices.Equal(got, []string{tool.Observe, tool.Debug}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := tool.CheckSets([]string{}); err != nil || got == nil || len(got) != 0 {
		t.Errorf("no sets are %#v, %v", got, err)
	}
	for _, err := range []error{tool.Settings{Sets: []string{"debugger"}}.Check(), func() error { _, err := tool.CheckSets([]string{"debugger"}); return err }()} {
		if usererr.CodeOf(err) != usererr.NotFound || !strings.Contains(err.Error(), "the sets are observe, act, debug") {
			t.Errorf("%v", err)
		}
	}
	if err := (tool.Settings{}).Check(); err != nil {
		t.Error(err)
	}
}
