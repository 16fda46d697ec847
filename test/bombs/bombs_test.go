// Package bombs_test sends a whole server templates that need unlimited memory or time.
//
//muster:needs daemons quiet
package bombs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/test/server"
)

const (
	answerLimit = 3 * time.Second // what the person waits for a 422, at most
	queueLimit  = time.Minute     // the same where ten ask at once: two evaluations are made at a time
	mayGrow     = 32 << 20        // bytes of resident memory, whatever templates do
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

func corpus(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../internal/adapter/sandbox/testdata/bombs/*")
	if err != nil || len(files) < 25 {
		t.Fatalf("the corpus has %d files, %v", len(files), err)
	}
	bombs := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bombs[filepath.Base(file)] = string(text)
	}
	return bombs
}

func TestEveryBombIsA422AndTheServerStaysSmall(t *testing.T) {
	s := server.Start(t, server.Options{})
	evaluatesWell(t, s) // the workers are warm now
	before := memoryOf(t, s.PID(), "VmRSS:")
	for name, text := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			detonate(t, s, text, answerLimit)
			evaluatesWell(t, s)
		})
	}
	if grown := memoryOf(t, s.PID(), "VmRSS:") - before; grown > mayGrow {
		t.Errorf("the server grew by %d MiB", grown>>20)
	}
}

func TestTenBombsAtOnceLeaveTheRestQuick(t *testing.T) {
	s := server.Start(t, server.Options{})
	evaluatesWell(t, s)
	before := memoryOf(t, s.PID(), "VmRSS:")
	burning := make(chan struct{})
	var all sync.WaitGroup
	bombs := 0
	for _, text := range corpus(t) {
		if bombs++; bombs > 10 {
			break
		}
		all.Go(func() { detonate(t, s, text, queueLimit) })
	}
	go func() { all.Wait(); close(burning) }()
	for answered := 0; ; answered++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of the API, not of a template
		_, err := s.Client.Templates(ctx, client.List{})
		cancel()
		if err != nil {
			t.Fatalf("read %d while ten bombs burn: %v", answered, err)
		}
		select {
		case <-burning:
			evaluatesWell(t, s)
			if grown := memoryOf(t, s.PID(), "VmRSS:") - before; grown > mayGrow {
				t.Errorf("the server grew by %d MiB", grown>>20)
			}
			t.Logf("%d reads answered while ten bombs burned", answered)
			return
		default:
		}
	}
}

// detonate wants a 422 that says what is wrong, within the limit.
func detonate(t *testing.T, s *server.Server, text string, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := s.Client.EvaluateNewTemplate(ctx, api.EvaluateTemplate{Template: &text}, "")
	var answer *client.Error
	if !errors.As(err, &answer) || answer.Status != http.StatusUnprocessableEntity {
		t.Errorf("got %v, want a 422 within %v", err, limit)
		return
	}
	if answer.Problem.Detail == "" {
		t.Errorf("the problem says nothing: %+v", answer.Problem)
	}
}

func evaluatesWell(t *testing.T, s *server.Server) {
	t.Helper()
	text := fmt.Sprintf("def template(device):\n    return {'globalAnnounceEnabled': len(device.label) > %d}\n",
		time.Now().UnixNano()%1000)
	op, key := "merge", "options"
	made, err := s.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{Template: &text, Op: &op, Key: &key}, "")
	if err != nil || !bytes.Contains(made.Value, []byte("globalAnnounceEnabled")) {
		t.Errorf("a good template gave %s, %v", made.Value, err)
	}
}
