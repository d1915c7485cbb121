package sessions_test

import (
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
)

// TestASessionThatChangedMeanwhileIsEnded: the agent of a branch may end while its session does.
func TestASessionThatChangedMeanwhileIsEnded(t *testing.T) {
	db, _, err := records.Open(filepath.Join(t.TempDir(), "timeline.db"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	r, err := sessions.Read(db)
	if err != nil {
		t.Fatal(err)
	}
	s := &records.Session{Workspace: t.TempDir(), Started: time.Now()}
	if err := r.Begin(s); err != nil {
		t.Fatal(err)
	}
	if err := r.Update(s.ID, func(s *records.Session) { s.Agent = &records.Agent{Outcome: "exit status 0"} }); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(s, time.Now(), time.Second); err != nil {
		t.Fatal(err)
	}
	if r, err = sessions.Read(db); err != nil {
		t.Fatal(err)
	}
	if now, err := r.Find(s.ID); err != nil || now.Ended.IsZero() || now.Agent == nil || now.Agent.Outcome != "exit status 0" {
		t.Errorf("%+v, %v", now, err)
	}
}
