package sourcemap

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestAHostileMapCostsItsBytes: whatever a page serves as a map of the largest size, it is read or refused in time, and takes
// bounded memory.
func TestAHostileMapCostsItsBytes(t *testing.T) {
	const size, within, memory = 32 << 20, time.Minute, 16
	again := func(head, part, tail string) string {
		n := (size - len(head) - len(tail)) / len(part)
		return head + strings.Repeat(part, n) + tail
	}
	const mappings = `"mappings":"AAAA"}`
	section := `{"offset":{"line":0,"column":%d},"map":{"version":3,"sources":["a"],"mappings":"AAAA"}},`
	var sections strings.Builder
	for i := range maxSections {
		fmt.Fprintf(&sections, section, i)
	}
	for name, data := range map[string]string{
		"nested lists":                again(`{"version":3,"sources":`, "[", ""),
		"nested lists, closed":        `{"version":3,"sources":["a"],"x":` + again("", "[", "")[:size/2-100] + again("", "]", "")[:size/2-100] + "," + mappings,
		"nested objects":              again("", `{"a":`, ""),
		"nested sections":             again(`{"version":3,"sections":[`, `{"offset":{"line":0,"column":0},"map":{"version":3,"sections":[`, ""),
		"nested sections, closed":     `{"version":3,"sections":[` + strings.Repeat(`{"offset":{"line":0,"column":0},"map":{"version":3,"sections":[`, 200_000) + strings.Repeat("]}}", 200_000) + "]}",
		"sections":                    `{"version":3,"sections":[` + strings.TrimSuffix(sections.String(), ",") + "]}",
		"too many sections":           again(`{"version":3,"sections":[`, fmt.Sprintf(section, 0), "0]}"),
		"sections with the same map":  again(`{"version":3,"sections":[`, `{"offset":{"line":0,"column":0},"map":{}},`, "0]}"),
		"names":                       again(`{"version":3,"sources":["a"],"names":[`, `"a",`, `"b"],`+mappings),
		"names that are numbers":      again(`{"version":3,"sources":["a"],"names":[`, `1,`, `2],`+mappings),
		"sources":                     again(`{"version":3,"sources":[`, `"../../a",`, `"b"],`+mappings),
		"a long name":                 again(`{"version":3,"sources":["`, `../`, `b"],`+mappings),
		"escaped names":               again(`{"version":3,"sources":["`, `\u0061`, `b"],`+mappings),
		"a long root":                 again(`{"version":3,"sourceRoot":"`, `a/`, `","sources":["a"],`+mappings),
		"a long root of many sources": `{"version":3,"sourceRoot":"` + strings.Repeat("a/", 1<<19) + `","sources":[` + strings.Repeat(`"a",`, maxSources-1) + `"b"],` + mappings,
		"ignored":                     again(`{"version":3,"sources":["a"],"ignoreList":[`, `0,`, `0],`+mappings),
		"keys":                        again(`{"version":3,"sources":["a"],`, `"mappings":"AAAA",`, mappings),
		"styles":                      again(`{"version":3,"sources":["a.vue"],"sourcesContent":["`, `<style`, `"],`+mappings),
		"styles of many components":   again(`{"version":3,"sources":[`+strings.Repeat(`"a.vue",`, 8)+`"b.vue"],"sourcesContent":[`, `"`+strings.Repeat("<style>", 1<<18)+`",`, `""],`+mappings),
		"open styles":                 again(`{"version":3,"sources":["a.vue"],"sourcesContent":["`, `<style>`, `"],`+mappings),
		"negative places":             again(`{"version":3,"sources":["a"],"mappings":"`, `CAAA,DAAA;`, `"}`),
		"numbers that overflow":       again(`{"version":3,"sources":["a"],"mappings":"`, `+/////D,`, `"}`),
		"numbers without an end":      again(`{"version":3,"sources":["a"],"mappings":"`, `g`, `"}`),
		"lines":                       again(`{"version":3,"sources":["a"],"mappings":"AAAA`, `;`, `"}`),
		"a guard":                     again(`)]}'`, `x`, ``),
		"zeros":                       again("\x00", "\x00", ""),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			m, err := Parse("http://h/js/app.js.map", []byte(data))
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if took > within {
				t.Errorf("%d bytes were read in %s", len(data), took)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > memory*uint64(len(data))+64<<20 {
				t.Errorf("%d bytes took %d", len(data), n)
			}
			if err != nil {
				return
			}
			if m.Size() > 4*len(data)+1<<20 {
				t.Errorf("%d bytes became %d", len(data), m.Size())
			}
			if m.Find(1, 1); time.Since(began)-took > time.Second {
				t.Error("a look-up is slow")
			}
		})
	}
}
