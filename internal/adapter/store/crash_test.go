package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

const (
	crashHome  = "MUSTER_STORE_TEST_CRASH_HOME"
	crashKills = "MUSTER_STORE_TEST_KILLS" // how often to kill; 80 without it, and 200 in a soak
	writers    = 4
	slots      = 16 // devices per writer: replaced again and again
)

// Acknowledged means on disk: a process that writes from several goroutines is killed at random moments, again and
// again on one growing database, and everything that it was told is kept is there afterwards.
func TestEveryAcknowledgedWriteSurvivesKill(t *testing.T) {
	t.Parallel()
	kills := 80
	if os.Getenv("MUSTER_SOAK") != "" {
		kills = 200
	}
	if text := os.Getenv(crashKills); text != "" {
		kills = must(strconv.Atoi(text))(t)
	}
	home := t.TempDir()
	acknowledged := acks{devices: map[int]int64{}, templates: map[int64]string{}}
	for round := 1; round <= kills; round++ {
		writeAndKill(t, home, &acknowledged)
		if round%20 == 0 || round == kills {
			acknowledged.check(t, home)
		}
	}
	if len(acknowledged.templates) == 0 || len(acknowledged.devices) == 0 {
		t.Fatalf("in %d rounds nothing was acknowledged", kills)
	}
	t.Logf("%d kills, %d device slots, %d templates", kills, len(acknowledged.devices), len(acknowledged.templates))
}

// acks is what the killed processes said was kept.
type acks struct {
	devices   map[int]int64    // device number: the last value acknowledged as its label
	templates map[int64]string // ID: label
}

func writeAndKill(t *testing.T, home string, acknowledged *acks) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashHome+"="+home)
	child.Stderr = os.Stderr
	out := must(child.StdoutPipe())(t)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if rand.IntN(10) > 0 { // else it may die while it opens the database
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("the writing process did not get ready: %q, %v", lines.Text(), child.Wait())
		}
	}
	if rand.IntN(2) > 0 && lines.Scan() { // else a busy machine may kill each process before it keeps anything
		acknowledged.add(t, lines.Text())
	}
	kill := time.AfterFunc(time.Duration(rand.IntN(30_000))*time.Microsecond, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	for lines.Scan() {
		acknowledged.add(t, lines.Text())
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the writing process ended by itself: %v", child.ProcessState)
	}
}

func (a *acks) add(t *testing.T, line string) {
	t.Helper()
	var number, value int64
	switch {
	case line == "ready":
	case scan(line, "device %d %d", &number, &value):
		a.devices[int(number)] = max(a.devices[int(number)], value)
	case scan(line, "template %d %d", &number, &value):
		if label, twice := a.templates[number]; twice {
			t.Fatalf("template ID %d was given twice, also for %q", number, label)
		}
		a.templates[number] = strconv.FormatInt(value, 10)
	}
	// Any other line was cut short by the kill: it acknowledges nothing.
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format+" .", into...)
	return err == nil && n == len(into)
}

func (a *acks) check(t *testing.T, home string) {
	t.Helper()
	s, err := Open(t.Context(), Options{Home: home, Seal: key(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for number, value := range a.devices {
		device := must(s.Device(t.Context(), deviceN(number).ID))(t)
		if got := must(strconv.ParseInt(device.Label, 10, 64))(t); got < value {
			t.Fatalf("device %d has value %d, but %d was acknowledged", number, got, value)
		}
	}
	for id, label := range a.templates {
		if template := must(s.Template(t.Context(), id))(t); template.Label != label {
			t.Fatalf("template %d is %q, but %q was acknowledged", id, template.Label, label)
		}
	}
}

// writeUntilKilled is the other process. Each writer replaces its devices with ever larger values, and creates a
// template now and then; a line goes out after the store has acknowledged.
func writeUntilKilled(home string) int {
	sealer, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := Open(context.Background(), Options{Home: home, Seal: sealer})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	base := time.Now().UnixNano() // larger than in any round before
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := int64(0); ; i++ {
				number := w*slots + int(i%slots)
				d := deviceN(number)
				d.Label = strconv.FormatInt(base+i, 10)
				if _, _, err := s.PutDevice(context.Background(), d, nil); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("device %d %d .\n", number, base+i)
				if i%8 != 0 {
					continue
				}
				template, err := s.CreateTemplate(context.Background(), fleet.Template{Label: d.Label, Op: fleet.OpSet,
					Text: "{}"})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("template %d %d .\n", template.ID, base+i)
			}
		})
	}
	all.Wait()
	return 1
}
