package retention_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/retention"
)

const (
	day   = 24 * time.Hour
	years = 2 * 365 * day
	week  = 7 * day
)

// machine has a clock that anyone sets, and one that nobody does.
type machine struct {
	at    time.Time
	boot  int
	ran   time.Duration
	real  time.Duration // what has passed
	saved []byte
	saves int
	*retention.Clock
}

func newMachine() *machine {
	m := &machine{at: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	m.restart()
	m.look()
	return m
}

func (m *machine) restart() {
	m.Clock = retention.NewClock(func() retention.Reading { return retention.Reading{At: m.at, Boot: fmt.Sprint(m.boot), Ran: m.ran} }, m.saved,
		func(data []byte) { m.saved, m.saves = data, m.saves+1 })
}

func (m *machine) look() { m.Age(m.at, week) }

// run passes time in which the daemon works.
func (m *machine) run(d time.Duration) {
	for d > 0 {
		step := min(d, 5*time.Minute)
		m.at, m.ran, m.real, d = m.at.Add(step), m.ran+step, m.real+step, d-step
		m.look()
	}
}

// suspend passes time in which the machine does nothing. Stands means that no clock but the system's counts it.
func (m *machine) suspend(d time.Duration, stands bool) {
	m.at, m.real = m.at.Add(d), m.real+d
	if !stands {
		m.ran += d
	}
	m.look()
}

// off passes time in which the machine is off. Set is what its clock is set by meanwhile.
func (m *machine) off(d, set time.Duration) {
	m.at, m.real = m.at.Add(d+set), m.real+d
	m.boot, m.ran = m.boot+1, time.Minute
	m.restart()
	m.look()
}

func (m *machine) set(d time.Duration) { m.at = m.at.Add(d); m.look() }

// TestAStepOfTheClock: what was written an hour before has the wanted age after it, and none is kept longer than a week from then.
func TestAStepOfTheClock(t *testing.T) {
	for name, c := range map[string]struct {
		pass     func(m *machine)
		from, to time.Duration
	}{
		"nothing":                                    {pass: func(*machine) {}, from: time.Hour, to: time.Hour},
		"forward two years while it runs":            {pass: func(m *machine) { m.set(years) }, from: time.Hour, to: time.Hour},
		"forward two years while it does not run":    {pass: func(m *machine) { m.at = m.at.Add(years); m.restart() }, from: time.Hour, to: time.Hour},
		"forward two years while the machine is off": {pass: func(m *machine) { m.off(time.Minute, years) }, from: time.Hour, to: time.Hour + day + time.Minute},
		"back two years":                             {pass: func(m *machine) { m.set(-years) }, from: time.Hour, to: time.Hour},
		"back two years while the machine is off":    {pass: func(m *machine) { m.off(time.Minute, -years) }, from: time.Hour, to: time.Hour + time.Minute},
		"back, then corrected":                       {pass: func(m *machine) { m.set(-years); m.run(time.Hour); m.set(years) }, from: 2 * time.Hour, to: 2 * time.Hour},
		"forward, then corrected":                    {pass: func(m *machine) { m.set(years); m.run(time.Hour); m.set(-years) }, from: 2 * time.Hour, to: 2 * time.Hour},
		"to and fro a hundred times": {pass: func(m *machine) {
			for range 100 {
				m.set(years)
				m.set(-years)
			}
		}, from: time.Hour, to: time.Hour},
		"to and fro by half an hour": {pass: func(m *machine) {
			for range 100 {
				m.set(30 * time.Minute)
				m.set(-30 * time.Minute)
			}
		}, from: time.Hour, to: time.Hour},
		"an empty battery at each start": {pass: func(m *machine) {
			for range 5 {
				m.off(8*time.Hour, -20*years)
				m.set(20 * years)
			}
		}, from: time.Hour, to: 41 * time.Hour},
		"a battery that is wrong by years at each start": {pass: func(m *machine) {
			for range 5 {
				m.off(8*time.Hour, years)
				m.set(-years)
			}
		}, from: time.Hour, to: 41*time.Hour + day},
		"suspended 10 days":                    {pass: func(m *machine) { m.suspend(10*day, false) }, from: time.Hour + 10*day, to: time.Hour + 10*day},
		"a virtual machine paused for 10 days": {pass: func(m *machine) { m.suspend(10*day, true) }, from: time.Hour, to: time.Hour + 10*day},
		"off for a night":                      {pass: func(m *machine) { m.off(14*time.Hour, 0) }, from: 15 * time.Hour, to: 15 * time.Hour},
		"off for 10 days":                      {pass: func(m *machine) { m.off(10*day, 0) }, from: time.Hour + day, to: time.Hour + 10*day},
		"10 days without a daemon":             {pass: func(m *machine) { m.at, m.ran = m.at.Add(10*day), m.ran+10*day; m.restart() }, from: time.Hour + 10*day, to: time.Hour + 10*day},
		"off for 10 days, up for 10 more before it runs": {pass: func(m *machine) {
			m.at, m.boot, m.ran = m.at.Add(20*day), m.boot+1, 10*day
			m.restart()
		}, from: time.Hour + 11*day, to: time.Hour + 20*day},
		"forward by a day a hundred times": {pass: func(m *machine) {
			for range 100 {
				m.set(day)
			}
		}, from: time.Hour, to: time.Hour},
		"two weeks off at night": {pass: func(m *machine) {
			for range 14 {
				m.run(8 * time.Hour)
				m.off(16*time.Hour, 0)
			}
		}, from: time.Hour + 14*day, to: time.Hour + 14*day},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			written := m.at
			m.run(time.Hour)
			c.pass(m)
			if age := m.Age(written, week); age < c.from-time.Minute || age > c.to+time.Minute {
				t.Errorf("it is %v old, not from %v to %v", age, c.from, c.to)
			}
			wrong := m.at // written now, whatever the clock says
			m.run(week)
			for what, at := range map[string]time.Time{"before": written, "after": wrong} {
				if age := m.Age(at, week); age < week {
					t.Errorf("what was written %s is %v old after a week", what, age)
				}
			}
			m.restart()
			if age := m.Age(written, week); age < week {
				t.Errorf("after a restart it is %v old", age)
			}
		})
	}
}

// TestWhatIsWrittenUnderAWrongClockAges: also after the clock was corrected, and a step counts by the limit.
func TestWhatIsWrittenUnderAWrongClockAges(t *testing.T) {
	m := newMachine()
	m.set(years)
	m.run(time.Hour)
	written := m.at
	m.run(time.Hour)
	m.set(-years)
	m.run(3 * day)
	if age := m.Age(written, week); age < 3*day+time.Hour-time.Minute || age > 3*day+time.Hour+time.Minute {
		t.Errorf("%v", age)
	}
	m.off(30*day, 0)
	m.run(week)
	m.off(30*day, 0) // the wrong time no longer counts as seen
	before := m.Age(written, week)
	if short := m.Age(written, 12*time.Hour); before-short < 12*time.Hour {
		t.Errorf("a step counts %v for a limit of a week, %v for half a day", before, short)
	}
	if age := m.Age(m.at.Add(100*years), week); age != 0 {
		t.Errorf("what was written in the future is %v old", age)
	}
}

// TestWithoutWhatWasSaved: with nothing saved, or with damages, everything counts as young.
func TestWithoutWhatWasSaved(t *testing.T) {
	for _, saved := range []string{"", "{", "[]", `{"boot":"0","ran":-1}`, `{"spans":[{"from":1,"to":2,"ran":-3}]}`, `{"spans":[{"from":-9223372036854775808,"to":9223372036854775807}]}`} {
		m := newMachine()
		m.saved = []byte(saved)
		m.restart()
		for _, written := range []time.Time{m.at.Add(-years), {}, time.Unix(0, 0)} {
			if age := m.Age(written, week); age != day {
				t.Errorf("%q: %v is %v old", saved, written, age)
			}
		}
		if age := m.Age(m.at, week); age != 0 {
			t.Errorf("%q: now is %v old", saved, age)
		}
	}
}

func TestAClockIsSavedWhenItStepsAndFromTimeToTime(t *testing.T) {
	m := newMachine()
	if m.saves != 1 {
		t.Fatalf("it was saved %d times at first", m.saves)
	}
	m.run(day)
	if m.saves > 1+24*6 {
		t.Errorf("it was saved %d times in a day", m.saves)
	}
	saves := m.saves
	m.set(-years)
	m.set(years)
	m.look()
	if m.saves != saves+2 {
		t.Errorf("it was saved %d times for two steps", m.saves-saves)
	}
	for range 3000 {
		m.set(years)
		m.set(-years)
	}
	if len(m.saved) > 200_000 {
		t.Errorf("%d bytes are saved", len(m.saved))
	}
}

// TestAgesAreBounded: whatever happens, what was there at first is not younger than the time for which the machine ran since,
// nor older than it is, but for a day for each start of the machine.
func TestAgesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		first, starts, ran := m.at, 0, time.Duration(0)
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			d := time.Duration(rapid.IntRange(1, 40).Draw(t, "hours")) * time.Hour
			switch rapid.SampledFrom([]string{"run", "set", "off", "suspend"}).Draw(t, "what") {
			case "run":
				m.run(d)
				ran += d
			case "set":
				m.set(rapid.SampledFrom([]time.Duration{d, d * 400}).Draw(t, "set"))
			case "off":
				m.off(d, rapid.SampledFrom([]time.Duration{0, 0, years}).Draw(t, "set"))
				starts++
			case "suspend":
				m.suspend(d, false)
				ran += d
			}
			age := m.Age(first, week)
			if most := m.real + time.Duration(starts)*(day+time.Hour); age > most || age < ran {
				t.Fatalf("it is %v old, and was written %v ago, of which the machine ran %v", age, m.real, ran)
			}
		}
	})
}
