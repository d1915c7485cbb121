package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

func TestNames(t *testing.T) {
	for name, rule := range map[string]string{
		"session_start": "", "pre_commit": "", "before_refactor": "", "after_auth_refactor": "", "baseline_checkout": "", "v2": "", "fix_123456": "",
		"phase_2": "", "issue_2026": "", "a": "", strings.Repeat("a", 50): "",
		"": "empty", "Before": "must match", "before refactor": "must match", "before-refactor": "must match", "2nd": "must match", "_x": "must match", "größe": "must match",
		strings.Repeat("a", 51): "51 characters", "auto_3": "reserved", "m12": "reserved for the moments", "s1": "reserved for the moments", "auto": "reserved",
		"before_2026_01_23": "date or time", "before_20260123": "date or time", "deploy_23_01_2026": "date or time", "at_14h30": "date or time",
		"at_2pm": "date or time", "run_14_30_05": "date or time", "snap_1732140000": "date or time",
	} {
		err := CheckName(name)
		var named *NameError
		if rule == "" && err != nil || rule != "" && (!errors.As(err, &named) || !strings.Contains(err.Error(), rule)) {
			t.Errorf("%q: %v, want %q", name, err, rule)
		}
	}
}

func TestTimesInAnyFormOfISO8601(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	for in, want := range map[string]string{
		"2026-01-23T10:25:00Z":        "2026-01-23T10:25:00Z",
		"2026-01-23T10:25:00.123Z":    "2026-01-23T10:25:00.123Z",
		"2026-01-23T10:25:00,5+02:00": "2026-01-23T08:25:00.5Z",
		"2026-01-23T10:25:00-0530":    "2026-01-23T15:55:00Z",
		"2026-01-23T10:25:00+01":      "2026-01-23T09:25:00Z",
		"2026-01-23t10:25:00z":        "2026-01-23T10:25:00Z",
		"2026-01-23 10:25":            "2026-01-23T09:25:00Z",
		"20260123T102500Z":            "2026-01-23T10:25:00Z",
		"20260123T1025Z":              "2026-01-23T10:25:00Z",
		"2026-01-23T10Z":              "2026-01-23T10:00:00Z",
		"2026-01-23T10.5Z":            "2026-01-23T10:30:00Z",
		"2026-01-23T10:25.5Z":         "2026-01-23T10:25:30Z",
		"2026-01-23":                  "2026-01-22T23:00:00Z",
		"2026-01":                     "2025-12-31T23:00:00Z",
		"2026":                        "2025-12-31T23:00:00Z",
		"2026-W04-5T10:25:00Z":        "2026-01-23T10:25:00Z",
		"2026W045T102500Z":            "2026-01-23T10:25:00Z",
		"2026-023T10:25:00Z":          "2026-01-23T10:25:00Z",
		"2026023T102500Z":             "2026-01-23T10:25:00Z",
		"2026-01-23T24:00:00Z":        "2026-01-24T00:00:00Z",
		"2024-02-29T00:00:00Z":        "2024-02-29T00:00:00Z",
		" 2026-01-23T10:25:00Z ":      "2026-01-23T10:25:00Z",
		"2026-02-30":                  "!", "2026-13-01": "!", "2026-W54-1": "!", "2026-01-23T25:00Z": "!", "2026-01-23T10:61Z": "!",
		"2026-01-23T10:25:00+99:00": "!", "yesterday": "!", "2026/01/23": "!", "10:25": "!", "2026-01-23T10:25:00ZZ": "!", "2026-000": "!", "2026-400": "!",
	} {
		got, err := ParseTime(in, berlin)
		if want == "!" {
			if err == nil || !strings.Contains(err.Error(), "2026-01-23T10:25:00Z") {
				t.Errorf("%q is taken as %v (%v)", in, got, err)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, want %s (%v)", in, got, want, err)
		}
	}
}

func at(minute int) capture.Moment {
	return capture.Moment{At: time.Date(2026, 1, 23, 10, minute, 0, 0, time.UTC)}
}

// create makes a checkpoint, and returns the time of the one that it replaced.
func create(t *testing.T, r *Registry, scope, name string, minute int) time.Time {
	t.Helper()
	c, err := r.Create(Checkpoint{Name: name, Scope: scope, Moment: at(minute)})
	if err != nil {
		t.Fatal(err)
	}
	return c.Replaced
}

// A request that is repeated, because the daemon ended before it answered, is answered with what the first did.
func TestARepeatedRequestMakesOneCheckpoint(t *testing.T) {
	var r Registry
	create(t, &r, "", "before", 1)
	ask := func(call string, minute int) *Checkpoint {
		t.Helper()
		c, err := r.Create(Checkpoint{Name: "before", Call: call, Moment: at(minute)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := ask("one", 2)
	all, version := r.All()
	if again := ask("one", 3); *again != *first || again.At != at(2).At || again.Replaced != at(1).At {
		t.Errorf("the repeated request is answered with %+v, the first was with %+v", again, first)
	}
	if now, n := r.All(); n != version || len(now) != len(all) || now[0] != all[0] {
		t.Errorf("the repeated request has changed the checkpoints: %+v", now)
	}
	if other := ask("two", 4); other.At != at(4).At || other.Replaced != at(2).At {
		t.Errorf("another request is answered with %+v", other)
	}
}

func TestTheTwentyFirstNamesTheOldest(t *testing.T) {
	var r Registry
	for i := range MaxNamed {
		create(t, &r, "", fmt.Sprintf("phase_%c", 'a'+i), i)
	}
	_, err := r.Create(Checkpoint{Name: "one_more", Moment: at(50)})
	var full *FullError
	if !errors.As(err, &full) || !strings.Contains(err.Error(), `"phase_a"`) {
		t.Errorf("%v", err)
	}
	if old := create(t, &r, "", "phase_b", 51); old != at(1).At {
		t.Errorf("replacing one of twenty: %+v", old)
	}
}

func TestScopesDoNotOverwriteEachOther(t *testing.T) {
	var r Registry
	create(t, &r, "http://a", "session_start", 1)
	if old := create(t, &r, "http://b", "session_start", 2); !old.IsZero() {
		t.Errorf("one scope replaced the other's: %+v", old)
	}
	create(t, &r, "", "everywhere", 3)
	for scope, minute := range map[string]int{"http://a": 1, "http://b": 2} {
		if c, err := r.Get(scope, "session_start"); err != nil || c.At != at(minute).At {
			t.Errorf("%s: %+v %v", scope, c, err)
		}
		if c, err := r.Get(scope, "everywhere"); err != nil || c.Scope != "" {
			t.Errorf("%s does not see what is everybody's: %v", scope, err)
		}
		if list := r.List(scope); len(list) != 2 {
			t.Errorf("%s sees %d", scope, len(list))
		}
	}
	if _, err := r.Get("", "session_start"); err == nil || !strings.Contains(err.Error(), "several scopes") {
		t.Errorf("an ambiguous name: %v", err)
	}
	if _, err := r.Delete("http://b", "session_start"); err != nil {
		t.Fatal(err)
	}
	if c, err := r.Get("", "session_start"); err != nil || c.Scope != "http://a" {
		t.Errorf("the only one of that name: %+v %v", c, err)
	}
	if _, err := r.Get("http://b", "session_start"); err == nil {
		t.Error("another scope's checkpoint is seen")
	}
}

func TestTheNearestNameComesFirst(t *testing.T) {
	var r Registry
	for i, name := range []string{"session_start", "before_refactor", "baseline_cart"} {
		create(t, &r, "", name, i)
	}
	_, err := r.Get("", "baseline_card")
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Known[0] != "baseline_cart" || len(unknown.Known) != 3 {
		t.Errorf("%v", err)
	}
	if _, err := new(Registry).Get("", "x"); err == nil || !strings.Contains(err.Error(), "none has been created yet") {
		t.Errorf("%v", err)
	}
}

func TestScopes(t *testing.T) {
	s, err := NewScope([]string{"localhost:5173", "HTTP://LocalHost:5173/path?x", "https://app.test:443"})
	if err != nil || s.Key() != "http://localhost:5173 https://app.test" {
		t.Errorf("%q %v", s.Key(), err)
	}
	if !s.CoversOrigin("http://localhost:5173") || s.CoversOrigin("http://localhost:3000") || !(Scope{}).CoversOrigin("anything") {
		t.Error("covers wrongly")
	}
	for _, bad := range []string{"", "ftp://x", "http://", "a b"} {
		if _, err := NewScope([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestAScopeCoversTabsByOriginAndTheRestByWorkspace(t *testing.T) {
	s := Scope{Origins: []string{"http://localhost:5173"}, Workspace: "/home/me/shop"}
	for subject, want := range map[event.Subject]bool{
		event.InTab(1, "http://localhost:5173"):                                true,
		event.InTab(1, "http://localhost:3000"):                                false,
		event.InWorkspace("/home/me/shop"):                                     true,
		event.InWorkspace("/home/me"):                                          true, // it contains the client's
		event.InWorkspace("/home/me/shop/packages/cart"):                       true,
		event.InWorkspace("/home/me/shop2"):                                    false,
		event.InWorkspace("/srv"):                                              false,
		event.InWorkspace(""):                                                  true,
		{Kind: event.Terminal, Number: 2, Place: "/home/me/shop"}:              true,
		{Kind: event.AgentSession, Number: 1, Place: "/home/me/other"}:         false,
		{Kind: event.Process, Number: 4711, Place: "/home/me/shop/packages/a"}: true,
	} {
		if got := s.Covers(subject); got != want {
			t.Errorf("%+v: %t", subject, got)
		}
		if !(Scope{}).Covers(subject) {
			t.Errorf("a scope without limits does not cover %+v", subject)
		}
	}
}
