package debugger

import (
	"fmt"
	"testing"
)

func TestFoldedFrames(t *testing.T) {
	frame := func(source string, library bool, async string) StackFrame {
		return StackFrame{Source: source, Script: "/a.js:1:1", library: library, Async: async}
	}
	const react, dom, scoped, chunk = "node_modules/react/index.js:1:1", "node_modules/react-dom/cjs/a.js:2:2", "node_modules/@x/y/z.js:3:3", "/node_modules/.vite/deps/chunk-A.js:4:4"
	stack := []StackFrame{
		frame(dom, true, ""), frame(react, true, ""), frame(dom, true, ""), frame(scoped, true, ""), frame("src/App.jsx:9:1", false, ""), frame(dom, true, ""),
		frame("src/main.jsx:1:1", false, ""), frame(chunk, true, ""), frame(chunk, true, "setTimeout"), frame(react, true, ""),
	}
	lines, more := folded(stack)
	got := ""
	for _, l := range lines {
		got += fmt.Sprintf("%s %d %s %s\n", l.Source, l.Libraries, l.Async, l.Script)
	}
	want := dom + " 0  /a.js:1:1\nreact, react-dom, @x/y 3  \nsrc/App.jsx:9:1 0  \n" + dom + " 0  \nsrc/main.jsx:1:1 0  \n" + chunk + " 0  \nchunk-A.js, react 2 setTimeout \n"
	if got != want || more != 0 {
		t.Errorf("got\n%s%d more, want\n%s", got, more, want)
	}
	var deep []StackFrame
	for range 40 {
		deep = append(deep, frame("src/loop.js:1:1", false, ""))
	}
	if lines, more := folded(deep); len(lines) != maxStack || more != 40-maxStack {
		t.Errorf("%d lines, %d more", len(lines), more)
	}
	if lines, more := folded(nil); len(lines) != 0 || more != 0 {
		t.Errorf("%d lines, %d more", len(lines), more)
	}
}
