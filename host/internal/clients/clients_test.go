package clients_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/retention"
)

// newRegistry makes a registry with a clock that the test moves, and a log of callbacks.
func newRegistry() (r *clients.Registry, now *time.Time, log *[]string) {
	now, log = new(time.Time), &[]string{}
	*now = time.Date(2026, 1, 23, 10, 30, 0, 0, time.UTC)
	clock := func() time.Time { return *now }
	r = clients.New(capture.New(capture.DefaultLimits(), noise.Default(), clock()), clock, retention.Wall(clock))
	note := func(what string) func(*checkpoint.Client) {
		return func(c *checkpoint.Client) { *log = append(*log, what+" "+c.Name) }
	}
	r.OnConnect(note("back"))
	r.OnDisconnect(note("left"))
	r.OnDisconnect(note("left, the second"))
	r.OnForget(note("forgot"))
	r.OnRename(note("named"))
	return r, now, log
}

func check(t *testing.T, log *[]string, want ...string) {
	t.Helper()
	if !slices.Equal(*log, want) {
		t.Errorf("callbacks %q, want %q", *log, want)
	}
	*log = nil
}

func TestComingAndGoingIsToldInOrder(t *testing.T) {
	r, _, log := newRegistry()
	one, leave := r.Join("id", "one", checkpoint.Scope{})
	again, leaveAgain := r.Join("id", "one", checkpoint.Scope{})
	if one != again {
		t.Error("one id gave two clients")
	}
	check(t, log, "back one")
	r.Rename(one, "first")
	r.Rename(one, "first")
	check(t, log, "named one")
	if r.NameOf(one) != "first" || !r.Connected(one) {
		t.Error(r.NameOf(one), r.Connected(one))
	}
	leave()
	check(t, log)
	leaveAgain()
	check(t, log, "left one", "left, the second one")
	if r.Connected(one) {
		t.Error("it is still connected")
	}
	if back, _ := r.Join("id", "one", checkpoint.Scope{}); back != one {
		t.Error("it reconnected as another client")
	}
	if other, _ := r.Join("id", "one", checkpoint.Scope{Origins: []string{"http://localhost:1"}}); other == one {
		t.Error("another scope gave the same client")
	}
	check(t, log, "back one", "back one")
}

func TestOneWithoutAnIDIsForgottenAtOnce(t *testing.T) {
	r, _, log := newRegistry()
	_, leave := r.Join("", "one", checkpoint.Scope{})
	leave()
	check(t, log, "back one", "left one", "left, the second one", "forgot one")
	if list := r.All(); len(list) > 0 {
		t.Error(list)
	}
}

func TestThoseWhoWereAwayLongestAreForgotten(t *testing.T) {
	r, now, log := newRegistry()
	for i := range 66 {
		r.Returning(fmt.Sprint(i), checkpoint.Scope{})
	}
	check(t, log, "forgot 0", "forgot 1")
	r.Returning("2", checkpoint.Scope{}) // so that it is the newest
	r.Returning("new", checkpoint.Scope{})
	check(t, log, "forgot 3")
	*now = now.Add(8 * 24 * time.Hour)
	r.Returning("late", checkpoint.Scope{})
	if list := r.All(); len(list) != 1 || list[0].Name != "late" || len(*log) != 64 {
		t.Errorf("%v, %q", list, *log)
	}
}

func TestAProjectIsAlsoThatOfOthersOfItsScope(t *testing.T) {
	r, _, _ := newRegistry()
	scope := checkpoint.Scope{Origins: []string{"http://localhost:5173"}}
	one, _ := r.Join("", "one", scope)
	two, _ := r.Join("", "two", scope)
	everything, _ := r.Join("", "three", checkpoint.Scope{})
	r.SetProject(one, "/work/app/.tidemark.toml")
	r.SetProject(everything, "relative.toml")
	stranger := &checkpoint.Client{Scope: scope}
	for name, c := range map[string]struct {
		client *checkpoint.Client
		want   string
	}{"its own": {one, "/work/app/.tidemark.toml"}, "none of its own": {two, ""}, "a stranger": {stranger, "/work/app/.tidemark.toml"}, "everything": {everything, ""}} {
		if got := r.ProjectOf(c.client); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := r.ScopeOf("http://localhost:5173"); got.Key() != scope.Key() {
		t.Error(got)
	}
}
