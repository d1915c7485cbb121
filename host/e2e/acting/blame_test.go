package acting

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestBlame(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style>
.layer { position: fixed; inset: 0 }
</style>
<button>Pay</button><div class="layer"><p>Wait</p></div><script>
document.querySelector('.layer').__svelte_meta = { parent: null, loc: { file: 'src/Layer.svelte', line: 7, column: 1 } };
document.body.__svelte_meta = { parent: null, loc: { file: 'src/Body.svelte', line: 9, column: 1 } };
</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	d := a.Answer("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Pay"`)})
	t.Logf("%+v", d.Refused.Blame)
}
