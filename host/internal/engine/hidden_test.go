package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestHiddenTextIsNamedWithItsCode by the source map of the component that the tab loaded, and from the workspace on.
func TestHiddenTextIsNamedWithItsCode(t *testing.T) {
	s := &server{}
	var m map[string]any
	if err := json.Unmarshal(oneFile("Toast.vue"), &m); err != nil {
		t.Fatal(err)
	}
	m["sourcesContent"] = []string{"<template />\n<style>\n.toast {\n  display: none;\n}\n</style>\n"}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	s.put("/src/Toast.vue", data)
	s.put("/src/Toast.vue?vue&type=style&index=0&lang.css", oneFile("styles.css"))
	w := enginetest.NewWithMaps(t, s.fetch)
	w.Look = (&browser{button: "One"}).look
	loaded(w, "/src/Toast.vue", "")
	loaded(w, "/src/Toast.vue?vue&type=style&index=0&lang.css", "")
	file := "/home/ada/shop/src/Toast.vue"
	var asked []protocol.ActParams
	var blame protocol.ActBlame
	w.Do = func(_ context.Context, p protocol.ActParams) (*protocol.ActResult, error) {
		asked = append(asked, p)
		return &protocol.ActResult{Refused: protocol.RefusedHidden, Text: `p "Saved"`, Blame: &blame}, nil
	}
	c := &checkpoint.Client{Scope: checkpoint.Scope{Workspace: "/home/ada/shop"}}
	search := func(text string) string {
		asked = nil
		return snapshot(t, w, c, pages.SnapshotParams{Search: text}).Snapshot
	}
	for _, one := range []struct {
		blame protocol.ActBlame
		want  string
	}{
		{protocol.ActBlame{Style: "display: none", File: file, CompiledLine: 1, CompiledColumn: 45, Rule: ".toast[data-v-1]", Sheet: file, SheetLine: 3, SheetBlock: 1}, `p "Saved", display: none, src/Toast.vue:5; rule .toast[data-v-1] in src/Toast.vue:4`},
		{protocol.ActBlame{Style: "display: none", Sheet: file, SheetLine: 2, SheetBlock: 1}, `p "Saved", display: none in src/Toast.vue`},
		{protocol.ActBlame{Stack: []string{"Toast (" + enginetest.Page + "/src/Toast.vue:1:31)"}}, `p "Saved", src/Toast.vue:4`},
		{protocol.ActBlame{File: "/elsewhere/Toast.vue", Line: 8}, `p "Saved", Toast.vue:8`},
		{protocol.ActBlame{File: "/elsewhere/None.vue", CompiledLine: 1, CompiledColumn: 1, Outer: true}, `p "Saved", inside None.vue`},
	} {
		blame = one.blame
		search("Saved") // requests the map
		<-w.Maps.Idle()
		if text := search("Saved"); !strings.HasSuffix(text, "[Hidden: "+one.want+"]\n") {
			t.Errorf("%+v:\n%s", one.blame, text)
		}
		if len(asked) != 1 || len(asked[0].Steps) != 1 || asked[0].Steps[0].Op != protocol.StepSeek || asked[0].Steps[0].Texts[0] != "Saved" {
			t.Errorf("%+v", asked)
		}
	}
	if text := search("One"); strings.Contains(text, "Hidden") || asked != nil {
		t.Errorf("what is shown was sought: %s", text)
	}
	// An older extension, or a page that cannot be asked, leaves the line out.
	w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) {
		return nil, &protocol.Error{Code: protocol.CodeUnknown}
	}
	if text := search("Saved"); strings.Contains(text, "Hidden") {
		t.Error(text)
	}
}
