package report

import "tidemark.dev/tidemark/host/internal/alike"

// NetworkDiff lists endpoints whose state changed.
type NetworkDiff struct {
	Failures []Failure `json:"failures,omitempty"`
	// KnownFailures are endpoints that failed before the window, and within it in the same way. They are a warning. A reader
	// that folds has them in [Report.Repeated] instead.
	KnownFailures []Failure  `json:"known_failures,omitempty"`
	Degraded      []Degraded `json:"degraded,omitempty"`
	Recovered     []Changed  `json:"recovered,omitempty"`
	NewEndpoints  []Endpoint `json:"new_endpoints,omitempty"`
	// Late are requests that an action of the reader made, and that succeeded after its answer.
	Late []Endpoint `json:"late,omitempty"`
	// StillFailing counts the endpoints that fail at the end of the window as they did before it.
	StillFailing     int `json:"still_failing,omitempty"`
	TotalNewRequests int `json:"total_new_requests,omitempty"`
	Omitted          int `json:"omitted,omitempty"`

	// Shown is what the reader will know the listed failures by, Over that of the endpoints that are listed as recovered.
	Shown []alike.Entry `json:"-"`
	Over  []alike.Entry `json:"-"`
}

// Request is what every entry of the network section has: of the request that it shows.
type Request struct {
	// Operation is the name of the GraphQL operation.
	Operation string `json:"operation,omitempty"`
	// StartedAt is when the request was sent, and DurationMs how long it took.
	StartedAt  Time `json:"started_at,omitzero"`
	DurationMs int  `json:"duration_ms,omitempty"`
	// Initiator is file:line of the first frame in the project's own code that made the request. A wrapper, through which
	// requests of several callers to several endpoints go, is left out.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
	// CalledAt is file:line of the project's own code that called Initiator, where that is in another file. A read has it only
	// where it was overtaken, or stands for more than a few.
	CalledAt string `json:"called_at,omitempty"`
}

// Failure is an endpoint that failed.
type Failure struct {
	Method         string `json:"method"`
	URL            string `json:"url"`
	Status         int    `json:"status"`
	PreviousStatus int    `json:"previous_status,omitempty"`
	Error          string `json:"error,omitempty"`
	Count          int    `json:"count,omitempty"`
	// NowStatus is the status of a later request that did not fail any more.
	NowStatus int `json:"now_status,omitempty"`
	// Detail is the first meaningful line of the failed answer.
	Detail string `json:"detail,omitempty"`
	// Also is what else said the same: "logged at api.js:12, shown in .error".
	Also    string `json:"also,omitempty"`
	Request `tstype:",extends"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	Tab          int         `json:"tab,omitempty"`
	Ref          *Ref        `json:"-"`
}

// Degraded is an endpoint that has become slow.
type Degraded struct {
	Method        string `json:"method"`
	URL           string `json:"url"`
	AvgMs         int    `json:"avg_ms"`
	PreviousAvgMs int    `json:"previous_avg_ms"`
	Request       `tstype:",extends"`
	Tab           int  `json:"tab,omitempty"`
	Ref           *Ref `json:"-"`
}

// Changed is an endpoint that fails no more.
type Changed struct {
	Method         string `json:"method"`
	URL            string `json:"url"`
	Status         int    `json:"status"`
	PreviousStatus int    `json:"previous_status"`
	// PreviousError is why it failed before, where PreviousStatus does not say that.
	PreviousError string `json:"previous_error,omitempty"`
	// Count is how many endpoints it stands for, where they differ in numbers alone.
	Count   int `json:"count,omitempty"`
	Request `tstype:",extends"`
	Tab     int  `json:"tab,omitempty"`
	Ref     *Ref `json:"-"`
}

// Endpoint is an endpoint that was never seen before.
type Endpoint struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status"`
	// Count is how many endpoints it stands for where they differ in numbers alone, or how many late requests that are the same.
	Count int `json:"count,omitempty"`
	// Overtaken is true for a late request that was answered after a later one to the same endpoint.
	Overtaken bool `json:"overtaken,omitempty"`
	Request   `tstype:",extends"`
	Tab       int  `json:"tab,omitempty"`
	Ref       *Ref `json:"-"`
}

func (d *NetworkDiff) filter(errorsOnly bool) int {
	n := dropAll(&d.NewEndpoints) + dropAll(&d.Recovered) + dropAll(&d.Late)
	d.Over = nil
	if errorsOnly {
		n += dropAll(&d.Degraded) + dropAll(&d.KnownFailures)
	}
	return n
}

func (d *NetworkDiff) given() (shown []alike.Entry, over []uint64) {
	for _, e := range d.Over {
		over = append(over, e.Of)
	}
	return d.Shown, over
}

func (d *NetworkDiff) quotes() bool {
	return len(d.Failures)+len(d.KnownFailures)+len(d.Late)+len(d.NewEndpoints)+len(d.Degraded)+len(d.Recovered) > 0
}

func (d *NetworkDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *NetworkDiff) Empty() bool { return d.TotalNewRequests == 0 }

// Went returns the status before and the one after the failure.
func (f *Failure) Went() (before, now int) { return f.PreviousStatus, f.NowStatus }

// Fold sets what it shows of the failures that it stands for.
func (f *Failure) Fold(url, detail string, count int) { f.URL, f.Detail, f.Count = url, detail, count }

// Went returns the status before.
func (c *Changed) Went() (before, now int) { return c.PreviousStatus, 0 }

// Fold sets what it shows of the endpoints that it stands for.
func (c *Changed) Fold(url, _ string, count int) { c.URL, c.Count = url, count }

// Went returns nothing: such an endpoint has no status before.
func (e *Endpoint) Went() (before, now int) { return 0, 0 }

// Fold sets what it shows of the endpoints that it stands for.
func (e *Endpoint) Fold(url, _ string, count int) { e.URL, e.Count = url, count }
