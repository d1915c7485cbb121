package diff_test
import ("testing";"fmt";"time"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/enginetest"
	"tidemark.dev/tidemark/host/internal/noise"
)
func BenchmarkZZ(b *testing.B) {
	w := enginetest.New(b, capture.Limits{})
	fill := func() {
	now := w.Now
	for i := range 1000 {
		switch { 
		case i%50==0: w.Log("error", fmt.Sprintf("TypeError: Cannot read properties of undefined (reading 'id') of item %d", 100000+i))
		case i%20==0: w.Log("warning", fmt.Sprintf("Each child in a list should have a unique key, see row %d", 100000+i))
		default: w.Log("log",fmt.Sprintf("[store] state changed: items=%d at %s", i, now.Format(time.RFC3339)))
		}
	}
	for i := range 100 { if i%25==0 { w.Request("POST","/api/orders",500,20) } else { w.Request("GET", fmt.Sprintf("/api/items/%d?page=%d",i,i),200,20) } }
	for i := range 500 { w.Socket("received", fmt.Sprintf(`{"type":"stock","id":%d,"stock":%d}`,i,i%9)) }
	for i := range 50 { w.Send("action", fmt.Sprintf(`"action":"click","target":"button \"Add item %d\""`, i)) }
	}
	fill()
	from := w.Store.View(w.Now).Now()
	w.Pass(time.Second)
	fill()
	v := w.Store.View(w.Now)
	rules := noise.Default()
	for _, s := range append([]diff.Section{""}, capture.Sections...) {
		b.Run(string(s), func(b *testing.B) {
			o := diff.Options{Noise: rules}
			if s != "" { o.Include = []diff.Section{s} }
			for b.Loop() { diff.Compute(from, v, o) }
		})
	}
	b.Run("count", func(b *testing.B) { r := diff.Compute(from, v, diff.Options{Noise: rules}); for b.Loop() { r.CountTokens() } })
}
