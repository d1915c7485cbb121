package viewer

import (
	"os"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestLanesFoldWhereThereIsLittleRoom: at 380 px all lanes are one, which shows the worst of what happened at a time. The user
// can unfold them.
func TestLanesFoldWhereThereIsLittleRoom(t *testing.T) {
	w := e2etest.SeparateWorld(t) // the timeline of the other one shows errors of other tests
	p, page := newProject(t, w)
	v := &e2etest.Viewer{Tab: e2etest.Dashboard(t, w, w.World)}
	if _, err := shot(v.Ctx, 380, 760, false); err != nil {
		t.Fatal(err)
	}
	v.JS(`
await until(() => document.querySelector('.timeline.folded canvas'), 'folded lanes');
if (document.querySelector('.lane-names')) throw new Error('the names of lanes take room');
// How much of the rows is drawn in a color, without the flags and the axis.
globalThis.mark = (severity) => {
	const probe = document.querySelector('.timeline').appendChild(document.createElement('i'));
	probe.style.color = 'var(--mark-' + severity + ')';
	const [r, g, b] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
	probe.remove();
	const canvas = document.querySelector('.timeline canvas');
	const { data } = canvas.getContext('2d').getImageData(0, 24, canvas.width, canvas.height - 24 - 18);
	let n = 0;
	for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250 && Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 6) n++;
	return n;
};
if (mark('error') > 0) throw new Error('an error is shown, and none happened');`)
	p.write("app.css", "body { margin: 1px; }\n") // a file, a moment, a warning and an error, in three lanes
	p.run("timeline", "moment", "add", "--label", "before")
	page.JS(`console.warn('the cart is old'); console.error('the cart is lost')`)
	v.JS(`
await until(() => mark('error') > 0, 'the error in the one lane');
if (mark('warning') > 0) throw new Error('the warning hides the error of the same time');
globalThis.tall = document.querySelector('.timeline canvas').clientHeight;`)
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		takeInto(t, shots, "panel-lanes-folded", v.Tab, 380, 760)
	}
	v.JS(`
document.querySelector('.timeline .fold').click();
await until(() => document.querySelectorAll('.lane-names button').length > 4, 'all lanes');
const names = [...document.querySelectorAll('.lane-names button')].map((one) => one.textContent);
for (const name of ['Console', 'Moments', 'Files']) if (!names.includes(name)) throw new Error(name + ' is not in ' + names);
await until(() => document.querySelector('.timeline canvas').clientHeight > tall && mark('error') > 0, 'the error in its lane');
if (document.documentElement.scrollWidth > innerWidth + 1) throw new Error('it is wider than its window');`)
	if shots := os.Getenv(ScreenshotsEnv); shots != "" {
		takeInto(t, shots, "panel-lanes-unfolded", v.Tab, 380, 760)
	}
	if _, err := shot(v.Ctx, 1180, 760, false); err != nil {
		t.Fatal(err)
	}
	v.JS(`await until(() => !document.querySelector('.timeline.folded') && document.querySelector('.lane-names'), 'lanes where there is room')`)
}
