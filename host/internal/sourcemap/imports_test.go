package sourcemap

import (
	"encoding/json"
	"testing"
)

func TestAnImportHasTheOneLineThatNamesIt(t *testing.T) {
	contents := map[string]string{
		"webpack://shop/./src/App.jsx":             "// a view\nimport {\n  Item,\n} from './Item';\nimport './app.css';\nconst later = () => import(\"./Later\");\nconst old = require(`./old`);\n",
		"webpack://shop/./src/Twice.js":            "// import { Item } from './Item';\nimport { Item } from './Item';\n",
		"webpack://shop/./a/main.js":               "import './x';\n",
		"webpack://shop/./b/main.js":               "import './x';\n",
		"webpack://shop/./node_modules/p/index.js": "import './x';\n",
	}
	var sources, texts []string
	for name, text := range contents {
		sources, texts = append(sources, name), append(texts, text)
	}
	data, err := json.Marshal(map[string]any{"version": 3, "sources": sources, "sourcesContent": texts, "mappings": ""})
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseImports("http://localhost/main.js.map", data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, specifier string
		line            int
	}{
		{"src/App.jsx", "./Item", 4},
		{"src/App.jsx", "./app.css", 5},
		{"src/App.jsx", "./Later", 6},
		{"src/App.jsx", "./old", 7},
		{"src/App.jsx", "./Ite", 0},
		{"src/Other.jsx", "./Item", 0},
		{"src/Twice.js", "./Item", 0},
		{"main.js", "./x", 0}, // of two files
		{"a/main.js", "./x", 1},
		{"p/index.js", "./x", 0},
	} {
		if line := m.Import(c.file, c.specifier); line != c.line {
			t.Errorf("%s in %s is on line %d, not %d", c.specifier, c.file, c.line, line)
		}
	}
	if line := (*Map)(nil).Import("src/App.jsx", "./Item"); line != 0 {
		t.Errorf("without a map it is on line %d", line)
	}
}
