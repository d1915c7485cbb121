package cause_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

const root = "/home/me/shop"

// edit is a change of a file at a time in milliseconds. Its name alone says which file it is.
func edit(path string, at int64, lines ...event.Run) cause.Edit {
	return cause.Edit{FileChange: &event.FileChange{
		Head: event.Head{At: at + 40, Subject: event.InWorkspace(root)}, Path: path, Change: event.FileModified,
		Since: at - 10_000, Edited: at, Lines: lines, Tail: path[max(0, len(path)-len("a.js")):], By: "Edit " + path,
	}, Built: cause.IsBuilt(path)}
}

func at(line int) event.Run { return event.Run{At: line, Old: 1, New: 1} }

func frames(list ...any) (all []cause.Frame) {
	for i := 0; i < len(list); i += 2 {
		all = append(all, cause.Frame{File: list[i].(string), Line: list[i+1].(int)})
	}
	return all
}

func TestACauseNeedsEvidence(t *testing.T) {
	times := func(list ...int64) []int64 { return list }
	spans := func(list ...int64) (all []cause.Span) {
		for i := 0; i < len(list); i += 2 {
			all = append(all, cause.Span{Began: list[i], Ended: list[i+1]})
		}
		return all
	}
	polls := func(list ...int64) (all []cause.Answer) {
		for _, s := range spans(list...) {
			all = append(all, cause.Answer{Span: s, Endpoint: event.EndpointKey{Path: "/api/todos"}})
		}
		return all
	}
	for name, c := range map[string]struct {
		edits   []cause.Edit
		symptom cause.Symptom
		history cause.History
		// want is path:line and evidence, or why there is none.
		want string
	}{
		"a frame in the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050)},
			"src/a.js:12 [stack order]",
		},
		"the bundler names it too": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("http://localhost:5173/src/a.js?t=1", 12)},
			cause.History{Updates: times(1050), Modules: []cause.Module{{At: 1040, File: "/src/a.js?t=1040"}}},
			"src/a.js:12 [stack hot_update order]",
		},
		"a frame beside the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1010, at(1))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 14)},
			cause.History{Updates: times(1050)},
			"src/a.js:14 [stack]",
		},
		"a frame far from the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1010, at(1))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050)},
			cause.NoEvidence,
		},
		"the innermost frame decides": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1010, at(7))},
			cause.Symptom{At: 1100, Frames: frames("src/c.js", 1, "src/b.js", 7, "src/a.js", 12)},
			cause.History{Updates: times(1050)},
			"src/b.js:7 [stack]",
		},
		"a later change moved the line": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/a.js", 1010, event.Run{At: 3, Old: 0, New: 5})},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 17)},
			cause.History{Updates: times(1050)},
			"src/a.js:17 [stack order]",
		},
		"the only change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/c.js", 1)},
			cause.History{Updates: times(1050)},
			"src/a.js:12 [order]",
		},
		"the only change, and the bundler names another file": {
			[]cause.Edit{edit("app/page.js", 1000, at(12))},
			cause.Symptom{At: 1100, Named: frames("./components/Counter.js", 7), Text: "./components/Counter.js:7:9 Error: Expected ident"},
			cause.History{Updates: times(1050), Modules: []cause.Module{{At: 1050, File: "./app/page.js"}}},
			cause.NoEvidence,
		},
		"the only change is of a module that the bundler misses": {
			[]cause.Edit{edit("lib/prices.js", 1000, at(12))},
			cause.Symptom{At: 1100, Named: frames("./app/page.js", 1), Text: "./app/page.js:1:1 Export total doesn't exist in './lib/prices'"},
			cause.History{Updates: times(1050)},
			"lib/prices.js:12 [order]",
		},
		"the only change is of an index that the bundler misses": {
			[]cause.Edit{edit("lib/cart/index.ts", 1000, at(12))},
			cause.Symptom{At: 1100, Named: frames("./app/page.js", 1), Text: "./app/page.js:1:1 Can't resolve '../lib/cart'"},
			cause.History{Updates: times(1050)},
			"lib/cart/index.ts:12 [order]",
		},
		"one of two, without evidence": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1010, at(1))},
			cause.Symptom{At: 1100},
			cause.History{Updates: times(1050)},
			cause.NoEvidence,
		},
		"one of two, which the update names": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1010, at(1))},
			cause.Symptom{At: 1100},
			cause.History{Updates: times(1050), Modules: []cause.Module{{At: 1050, File: "webpack://shop/./src/b.js"}}},
			"src/b.js:1 [hot_update]",
		},
		"one of two, which the bundler names in the error": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1010, at(1))},
			cause.Symptom{At: 1100, Named: frames("/home/me/shop/src/a.js", 12)},
			cause.History{Updates: times(1050)},
			"src/a.js:12 [stack hot_update]",
		},
		"an effect that runs when the page is loaded again, as the server writes its files": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit(".next/dev/static/a.js", 9000, at(1))},
			cause.Symptom{At: 9500, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 9100)},
			"src/a.js:12 [stack]",
		},
		"a request that only a load makes, as the server wrote its cache and writes its log": {
			[]cause.Edit{edit("src/a.js", 1000, at(2)), edit(".next/dev/cache/1.sst", 3550), edit(".next/dev/logs/a.log", 7140, at(9))},
			cause.Symptom{At: 7200, Status: 500, Frames: frames("src/a.js", 2, "src/b.js", 12)},
			cause.History{Updates: times(300, 1030, 1060, 6480, 6560, 6640), Loads: times(300, 6640), Modules: []cause.Module{{At: 1030, File: "[project]/src/a.js"}}},
			"src/a.js:2 [stack]",
		},
		"the page was fine after the change before": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 5000, at(1))},
			cause.Symptom{At: 5100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 5050)},
			"src/b.js:1 [order]",
		},
		"the page was not fine for long": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 1150, at(1))},
			cause.Symptom{At: 1250, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 1200)},
			"src/a.js:12 [stack]",
		},
		"what programs make is no change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit(".vite/deps/a.js", 1010, at(1)), edit("dist/a.js", 1010, at(1))},
			cause.Symptom{At: 1100},
			cause.History{Updates: times(1050)},
			"src/a.js:12 [order]",
		},
		"an update that is reported after the error": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(500, 1300)},
			"src/a.js:12 [stack order]",
		},
		"a page that did not load the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(500)},
			cause.NotLoaded,
		},
		"an error before the change": {
			[]cause.Edit{edit("src/a.js", 2000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 2050)},
			cause.NoChange,
		},
		"an error long after the update": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 60_000, Frames: frames("src/c.js", 1)},
			cause.History{Updates: times(1050)},
			cause.NoEvidence,
		},
		"an error long after the update, in the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 60_000, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050)},
			"src/a.js:12 [stack]",
		},
		"an error long after the update, beside the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 60_000, Frames: frames("src/a.js", 13)},
			cause.History{Updates: times(1050)},
			cause.NoEvidence,
		},
		"a click on what another change broke": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1400, Frames: frames("src/c.js", 1)},
			cause.History{Updates: times(1050), Inputs: times(1390)},
			cause.NoEvidence,
		},
		"a click on what the change broke": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1400, Frames: frames("src/c.js", 1, "src/a.js", 12)},
			cause.History{Updates: times(1050), Inputs: times(1390)},
			"src/a.js:12 [stack]",
		},
		"a click that failed before": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 9000, Earlier: times(700), Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(500, 1050), Inputs: times(690, 8990)},
			cause.Existed,
		},
		"the same error before the change": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Earlier: times(600), Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(500, 1050)},
			cause.Existed,
		},
		"the same error, which was repaired in between": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/a.js", 3000, at(12)), edit("src/a.js", 5000, at(12))},
			cause.Symptom{At: 5100, Earlier: times(1100), Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 3050, 5050)},
			"src/a.js:12 [stack order]",
		},
		"a style sheet that was replaced in between, which shows nothing": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/a.css", 3000, at(1)), edit("README.md", 5000, at(1))},
			cause.Symptom{At: 5100, Earlier: times(1100), Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 3050, 5050), Loads: times(5050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 3050, File: "/src/a.css"}}},
			cause.Existed,
		},
		"the same, of a request without a stack": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/a.css", 3000, at(1)), edit("README.md", 5000, at(1))},
			cause.Symptom{At: 5100, Earlier: times(1100)},
			cause.History{Updates: times(1050, 3050, 5050), Loads: times(5050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 3050, File: "/src/a.css?t=3040"}}},
			cause.Existed,
		},
		"another module that was replaced in between, which shows nothing": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 3000, at(1)), edit("index.html", 5000, at(1))},
			cause.Symptom{At: 5100, Earlier: times(1100), Frames: frames("http://localhost:5173/src/a.js", 12)},
			cause.History{Updates: times(1050, 3050, 5050), Loads: times(5050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 3050, File: "/src/b.js"}}},
			cause.Existed,
		},
		"the same module that was replaced in between, which shows that it was repaired": {
			[]cause.Edit{edit("src/c.js", 1000, at(12)), edit("src/c.js", 3000, at(12)), edit("src/c.js", 5000, at(12))},
			cause.Symptom{At: 5100, Earlier: times(1100), Frames: frames("http://localhost:5173/src/a.js", 12)},
			cause.History{Updates: times(1050, 3050, 5050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 3050, File: "/src/a.js"}}},
			"src/c.js:12 [order]",
		},
		"a build that fails again after other modules were replaced": {
			[]cause.Edit{edit("src/a.css", 1000, at(12)), edit("src/b.js", 3000, at(1)), edit("src/a.css", 5000, at(1))},
			cause.Symptom{At: 5100, Earlier: times(1100), Named: frames("/home/me/shop/src/a.css", 0)},
			cause.History{Updates: times(1050, 3050, 5050), Modules: []cause.Module{{At: 1050, File: "/src/a.css"}, {At: 3050, File: "/src/b.js"}}},
			cause.Existed,
		},
		"a request that only a load makes, after a hot update of what makes it": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("README.md", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050, 5100), Loads: times(5100), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}}},
			cause.NoEvidence,
		},
		"the same, in a line that was changed": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("README.md", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 5100), Loads: times(5100), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}}},
			cause.NoEvidence,
		},
		"the same, after what the server wrote": {
			[]cause.Edit{edit(".next/dev/a.js", 1000, at(12)), edit("src/b.js", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050, 5100), Loads: times(5100)},
			"src/b.js:1 [order]",
		},
		"a load after a change of the settings, after a hot update": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit(".env.local", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050, 5100), Loads: times(5100), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}}},
			".env.local:1 [order]",
		},
		"the same, after a style sheet that was replaced": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit(".env.local", 5000, at(1)), edit("src/a.css", 5100, at(1))},
			cause.Symptom{At: 6200, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(1050, 5150, 6100), Loads: times(500, 6100), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 5150, File: "/src/a.css"}}},
			".env.local:1 [order]",
		},
		"the same, after a module that was replaced": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.js", 5100, at(1))},
			cause.Symptom{At: 6200, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(5150, 6100), Loads: times(500, 6100), Modules: []cause.Module{{At: 5150, File: "/src/a.js"}}},
			cause.NoEvidence,
		},
		"the same, in a line of the module": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.js", 5100, at(1))},
			cause.Symptom{At: 6200, Frames: frames("src/a.js", 1)},
			cause.History{Updates: times(5150, 6100), Loads: times(500, 6100), Modules: []cause.Module{{At: 5150, File: "/src/a.js"}}},
			"src/a.js:1 [stack hot_update]",
		},
		"a module that the bundler names, after a change of the settings": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.js", 5100, at(1))},
			cause.Symptom{At: 6200, Named: frames("src/a.js", 0)},
			cause.History{Updates: times(6100), Loads: times(500, 6100)},
			"src/a.js:1 [hot_update]",
		},
		"a change of the settings, which a load showed to be fine": {
			[]cause.Edit{edit(".env.local", 1000, at(1)), edit("src/a.css", 5000, at(1))},
			cause.Symptom{At: 5200},
			cause.History{Updates: times(1100, 5050, 5100), Loads: times(1100, 5100), Modules: []cause.Module{{At: 5050, File: "/src/a.css"}}},
			"src/a.css:1 [hot_update order]",
		},
		"the same, and the server was started again since": {
			[]cause.Edit{edit(".env.local", 1000, at(1)), edit("src/a.css", 5000, at(1))},
			cause.Symptom{At: 6200},
			cause.History{Updates: times(1100, 5050, 6100), Loads: times(1100, 6100), Lost: times(5500), Modules: []cause.Module{{At: 5050, File: "/src/a.css"}}},
			".env.local:1 [order]",
		},
		"the same, and the page was only left": {
			[]cause.Edit{edit(".env.local", 1000, at(1)), edit("src/a.css", 5000, at(1))},
			cause.Symptom{At: 5200},
			cause.History{Updates: times(1100, 5050, 5100), Loads: times(1100, 5100), Lost: times(1080, 5080), Modules: []cause.Module{{At: 5050, File: "/src/a.css"}}},
			"src/a.css:1 [hot_update order]",
		},
		"a server that was started again long after the edits": {
			[]cause.Edit{edit("src/roles.js", 500, at(1)), edit("node_modules/x/a.js", 990, at(1)), edit("package.json", 1000, at(1)), edit("src/a.css", 2000, at(1))},
			cause.Symptom{At: 60_000, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(100, 700, 2050, 59_900), Loads: times(100, 59_900), Lost: times(50_000), Modules: []cause.Module{{At: 2050, File: "/src/a.css"}}},
			"package.json:1 [order]",
		},
		"the same, and the same error before": {
			[]cause.Edit{edit("package.json", 1000, at(1)), edit("src/a.css", 2000, at(1))},
			cause.Symptom{At: 60_000, Earlier: times(700), Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(100, 2050, 59_900), Loads: times(100, 59_900), Lost: times(50_000), Modules: []cause.Module{{At: 2050, File: "/src/a.css"}}},
			cause.NoEvidence,
		},
		"the same, after a click": {
			[]cause.Edit{edit("package.json", 1000, at(1)), edit("src/a.css", 2000, at(1))},
			cause.Symptom{At: 60_000, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(100, 2050, 59_900), Loads: times(100, 59_900), Inputs: times(59_950), Lost: times(50_000), Modules: []cause.Module{{At: 2050, File: "/src/a.css"}}},
			cause.NoEvidence,
		},
		"settings with which the server was started after a load": {
			[]cause.Edit{edit(".env.local", 1000, at(1))},
			cause.Symptom{At: 12_060},
			cause.History{Updates: times(500, 5000, 12_000), Loads: times(500, 5000, 12_000), Lost: times(10_000)},
			".env.local:1 [order]",
		},
		"settings in two files": {
			[]cause.Edit{edit(".env", 5000, at(1)), edit("vite.config.js", 5010, at(1))},
			cause.Symptom{At: 5200},
			cause.History{Updates: times(5100), Loads: times(500, 5100)},
			cause.NoEvidence,
		},
		"packages that were installed": {
			[]cause.Edit{edit("src/a.js", 1000, at(1)), edit("node_modules/x/a.js", 5000, at(1)), edit("package-lock.json", 5010, at(9)), edit("package.json", 5020, at(4))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050, 5100), Loads: times(500, 5100)},
			"package.json:4 [order]",
		},
		"packages that were installed without a change of their list": {
			[]cause.Edit{edit("package-lock.json", 5010, at(9)), edit("node_modules/x/a.js", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(5100), Loads: times(500, 5100)},
			"package-lock.json:9 [order]",
		},
		"a package that was changed alone, after a module that the page has not": {
			[]cause.Edit{edit("src/roles.js", 4000, at(1)), edit("node_modules/x/a.js", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(5100), Loads: times(500, 5100)},
			cause.NoEvidence,
		},
		"a package that was changed alone": {
			[]cause.Edit{edit("node_modules/x/a.js", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(5100), Loads: times(500, 5100)},
			cause.NoEvidence,
		},
		"a load that the server says what it is for": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/main.js", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050, 5080, 5100), Loads: times(5100), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 5080, File: root + "/src/main.js"}}},
			"src/main.js:1 [hot_update order]",
		},
		"the same, after a load without it": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 5000, at(1))},
			cause.Symptom{At: 5200, Frames: frames("src/a.js", 40)},
			cause.History{Updates: times(1050, 3000, 5100), Loads: times(3000, 5100)},
			"src/b.js:1 [order]",
		},
		"a load in between, which shows that it was repaired": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 3000, at(1)), edit("src/c.js", 5000, at(1))},
			cause.Symptom{At: 5100, Earlier: times(1100), Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 3050, 5050), Loads: times(3050), Modules: []cause.Module{{At: 3050, File: "/src/b.js"}}},
			"src/c.js:1 [order]",
		},
		"a server that stopped": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Outages: spans(1080, 1090)},
			cause.Outage,
		},
		"a server that stopped long before": {
			[]cause.Edit{edit("src/a.js", 100_000, at(12))},
			cause.Symptom{At: 100_100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(100_050), Outages: spans(1080, 1090)},
			"src/a.js:12 [stack order]",
		},
		"a server that stops after the error": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Outages: spans(1900, 2000)},
			"src/a.js:12 [stack order]",
		},
		"a server that had stopped, which a request shows that fails later": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Outages: spans(900, 2000)},
			cause.Outage,
		},
		"a server that answered again just before": {
			[]cause.Edit{edit("src/a.js", 10_000, at(12))},
			cause.Symptom{At: 10_100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(10_050), Outages: spans(7000, 8000)},
			cause.Outage,
		},
		"another answer to a request that the page had run with": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 3020, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}}, Answers: polls(900, 910, 1600, 1610, 2300, 2310, 3000, 3010)},
			cause.Ran,
		},
		"the same, again": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 3720, Earlier: times(3020), Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}}, Answers: polls(1600, 1610, 2300, 2310, 3000, 3010, 3700, 3710)},
			cause.Ran,
		},
		"the same, long after the update": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 60_020, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Answers: polls(1600, 1610, 60_000, 60_010)},
			cause.Ran,
		},
		"the same, in no code of the project": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 3020, Frames: frames("http://localhost:5173/", 1)},
			cause.History{Updates: times(1050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}}, Answers: polls(1600, 1610, 3000, 3010)},
			cause.Ran,
		},
		"the same, after a change of the settings": {
			[]cause.Edit{edit(".env.local", 1000, at(1))},
			cause.Symptom{At: 3020},
			cause.History{Updates: times(1050), Loads: times(1050), Answers: polls(1600, 1610, 3000, 3010)},
			cause.Ran,
		},
		"the first answer after the update": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1620, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Answers: polls(900, 910, 1600, 1610)},
			"src/a.js:12 [stack order]",
		},
		"the first answer after the update of that file": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 2520, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 2400), Modules: []cause.Module{{At: 1050, File: "/src/b.js"}, {At: 2400, File: "/src/a.js"}}, Answers: polls(1600, 1610, 2500, 2510)},
			"src/a.js:12 [stack hot_update order]",
		},
		"two requests at once": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 1140, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Answers: polls(1060, 1100, 1070, 1130)},
			"src/a.js:12 [stack order]",
		},
		"a click between two answers": {
			[]cause.Edit{edit("src/a.js", 1000, at(12))},
			cause.Symptom{At: 3020, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050), Inputs: times(2990), Answers: polls(1600, 1610, 2300, 2310, 3000, 3010)},
			"src/a.js:12 [stack]",
		},
		"settings whose load is under way as a module is changed": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.js", 5400, at(1))},
			cause.Symptom{At: 5600, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(500, 5200, 5500), Loads: times(500, 5200), Modules: []cause.Module{{At: 5500, File: "/src/a.js"}}},
			cause.NoEvidence,
		},
		"settings whose load is under way as a style sheet is changed": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.css", 5400, at(1))},
			cause.Symptom{At: 5600, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(500, 5200, 5500), Loads: times(500, 5200), Modules: []cause.Module{{At: 5500, File: "/src/a.css"}}},
			".env.local:1 [order]",
		},
		"settings with two loads, of which the second follows another change": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.js", 5400, at(1))},
			cause.Symptom{At: 6100, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(500, 5200, 6000), Loads: times(500, 5200, 6000)},
			cause.NoEvidence,
		},
		"settings of which no load has shown anything": {
			[]cause.Edit{edit(".env.local", 5000, at(1)), edit("src/a.js", 5400, at(1))},
			cause.Symptom{At: 5600, Frames: frames("src/b.js", 40)},
			cause.History{Updates: times(500, 5500), Loads: times(500), Modules: []cause.Module{{At: 5500, File: "/src/a.js"}}},
			"src/a.js:1 [hot_update]",
		},
		"a line that was changed just before another module": {
			[]cause.Edit{edit("src/a.js", 1000, at(12)), edit("src/b.js", 2000, at(1))},
			cause.Symptom{At: 2100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050, 2050), Modules: []cause.Module{{At: 1050, File: "/src/a.js"}, {At: 2050, File: "/src/b.js"}}},
			cause.NoEvidence,
		},
		"lines that are not known": {
			[]cause.Edit{edit("src/a.js", 1000), edit("src/b.js", 1010, at(1))},
			cause.Symptom{At: 1100, Frames: frames("src/a.js", 12)},
			cause.History{Updates: times(1050)},
			cause.NoEvidence,
		},
		"a library": {
			[]cause.Edit{edit("node_modules/x/a.js", 1000, at(12)), edit("src/b.js", 1010, at(1)), edit("src/c.js", 1010, at(1))},
			cause.Symptom{At: 1100, Frames: frames("node_modules/x/a.js", 12)},
			cause.History{Updates: times(1050)},
			cause.NoEvidence,
		},
	} {
		f := cause.Finder{Edits: c.edits}
		found, why := f.Find(c.symptom, &c.history)
		got := why
		if found != nil {
			got = fmt.Sprintf("%s:%d %v", found.Path, found.Line, found.Evidence)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAFileIsKnownByTheNamesOfBundlers(t *testing.T) {
	for name, want := range map[string]string{
		"src/a.js": "src/a.js", "/src/a.js?t=17": "src/a.js", "http://localhost:5173/src/a.js?t=17#x": "src/a.js", "./src/a.js": "src/a.js", "../../src/a.js": "src/a.js",
		"webpack://shop/./src/a.js": "src/a.js", "webpack-internal:///./src/a.js": "src/a.js", "webpack-internal:///(app-pages-browser)/./src/a.js": "src/a.js",
		"turbopack:///[project]/src/a.js": "src/a.js", "[project]/src/a.js": "src/a.js", "./node_modules/vue-loader/index.js??x!./src/a.vue?vue": "src/a.vue",
		"/@fs/home/me/shop/src/a.js": "= src/a.js", "file:///home/me/shop/src/a.js": "= src/a.js", "/home/me/shop/src/a.js": "= src/a.js",
		"file:///home/you/src/a.js": "", "http://localhost:3000/my%20shop/a.js": "my shop/a.js", "C:/other/a.js": "",
	} {
		tail, whole := cause.Tail(name, root)
		if whole {
			tail = "= " + tail
		}
		if tail != want {
			t.Errorf("%q is %q, want %q", name, tail, want)
		}
	}
	if tail, whole := cause.Tail(`file:///C:/shop/src/a.js`, `C:\shop`); tail != "src/a.js" || !whole {
		t.Errorf("on Windows it is %q, %v", tail, whole)
	}
}

func TestATextOfABundlerNamesFiles(t *testing.T) {
	for text, want := range map[string][]cause.Frame{
		"[plugin:vite:oxc] Transform failed with 1 error: [PARSE_ERROR] Expected a tag ╭─[ src/App.jsx:17:7 ]": frames("src/App.jsx", 17),
		"Failed to resolve import \"./prices.js\" from \"src/App.jsx\". – /tmp/x/src/App.jsx:3:22":             frames("./prices.js", 0, "src/App.jsx", 0, "/tmp/x/src/App.jsx", 3),
		"[vite] Failed to reload /src/App.jsx. This could be due":                                              frames("/src/App.jsx", 0),
		"ERROR in ./src/index.js 4:10\nModule not found":                                                       frames("./src/index.js", 0),
		"SyntaxError: /shop/src/a.tsx: Unexpected (4:10)":                                                      frames("/shop/src/a.tsx", 0),
		"nothing at all": nil,
	} {
		if got := cause.Named(text); !slices.Equal(got, want) {
			t.Errorf("%q names %v, want %v", text, got, want)
		}
	}
}

// TestAFailedBuildNamesItsFile: in what the servers of Next.js and webpack send to the page, and in the message that begins
// with the place.
func TestAFailedBuildNamesItsFile(t *testing.T) {
	for name, c := range map[string]struct{ url, text string }{
		"Next.js":          {"ws://localhost:3000/_next/hmr?id=1", `{"type":"built","hash":"1","errors":[{"message":"./src/a.js:3:12\nError: Expected"}]}`},
		"webpack":          {"ws://localhost:8080/ws", `{"type":"errors","data":[{"moduleIdentifier":"x","moduleName":"./src/a.js","loc":"3:12"}]}`},
		"webpack begins":   {"ws://localhost:8080/ws", `{"action":"building","file":"/home/me/shop/src/a.js"}`},
		"another's socket": {"ws://localhost:8080/live", `{"action":"moved","file":"/home/me/shop/src/a.js"}`},
	} {
		rules := noise.Default()
		s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
		page := event.Head{At: 1100, Subject: event.InTab(1, "http://localhost:3000")}
		if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(),
			&event.WebSocket{Head: page, Op: "received", URL: c.url, Text: c.text},
			&event.WebSocket{Head: page, Op: "received", URL: "ws://localhost:8080/ws", Text: `{"name":"","action":"built","time":9,"errors":[]}`},
			&event.Console{Head: page, Level: event.Error, Text: "Error: Expected"},
		); err != nil {
			t.Fatal(err)
		}
		files := capture.NewSink(s, capture.Workspaces, epoch)
		for _, path := range []string{"src/a.js", "src/b.js"} {
			e := edit(path, 1000, at(3))
			if err := files.Append(t.Context(), e.FileChange); err != nil {
				t.Fatal(err)
			}
		}
		v := s.View(time.UnixMilli(2000))
		past := cause.Read(v, capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
		for _, e := range v.Console().From(0) {
			found, why := past.Of(past.OfMessage(e, nil))
			if (found != nil && found.Path == "src/a.js") == (name == "another's socket") {
				t.Errorf("%s: %+v, %s", name, found, why)
			}
			located := *e
			located.Text = "./src/b.js:3:7 Error: Expected"
			if found, why := past.Of(past.OfMessage(&located, nil)); name == "another's socket" && (found == nil || found.Path != "src/b.js") {
				t.Errorf("%s: %+v, %s", located.Text, found, why)
			}
		}
	}
}

// epoch is the clock of stores whose events have times of a few seconds.
func epoch() time.Time { return time.UnixMilli(0) }
