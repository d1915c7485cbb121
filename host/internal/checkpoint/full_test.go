package checkpoint

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhoIsToldOfTheOldestCanDeleteIt(t *testing.T) {
	var r Registry
	for i := range MaxNamed {
		scope := "http://a"
		if i > 3 {
			scope = "http://b"
		}
		create(t, &r, scope, fmt.Sprintf("phase_%c", 'a'+i), i)
	}
	for scope, oldest := range map[string]string{"": "phase_a", "http://a": "phase_a", "http://b": "phase_e", "http://c": "phase_a"} {
		_, err := r.Create(Checkpoint{Name: "one_more", Scope: scope, Moment: at(50)})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("The oldest is %q", oldest)) {
			t.Errorf("%s: %v", scope, err)
			continue
		}
		if _, found := r.Get(scope, oldest); (found != nil) != strings.Contains(err.Error(), "which belongs to http://a: `tidemark checkpoint rm phase_a` deletes it there") {
			t.Errorf("%s: %v, but %v", scope, err, found)
		}
	}
}

func TestACheckpointNeverMoves(t *testing.T) {
	var r Registry
	create(t, &r, "", "kept", 1)
	kept, err := r.Get("", "kept")
	if err != nil {
		t.Fatal(err)
	}
	list := r.List("")
	create(t, &r, "", "other", 2)
	create(t, &r, "", "kept", 3)
	if _, err := r.Delete("", "other"); err != nil {
		t.Fatal(err)
	}
	if kept.At != at(1).At || len(list) != 1 || list[0].At != at(1).At {
		t.Errorf("what was handed out has changed: %+v, %+v", kept, list)
	}
	if now := r.List(""); len(now) != 1 || now[0].At != at(3).At {
		t.Errorf("%+v", now)
	}
}

func TestALongNameOfWideCharactersBreaksTheRuleThatItBreaks(t *testing.T) {
	if err := CheckName(strings.Repeat("ö", 30)); err == nil || !strings.Contains(err.Error(), "must match") {
		t.Errorf("%v", err)
	}
	if err := CheckName(strings.Repeat("ö", 51)); err == nil || !strings.Contains(err.Error(), "it has 51 characters") {
		t.Errorf("%v", err)
	}
}
