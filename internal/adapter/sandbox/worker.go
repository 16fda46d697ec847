package sandbox

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

const (
	helloPatience  = 10 * time.Second // a worker starts in milliseconds; a machine that swaps takes longer
	burialPatience = 5 * time.Second
	watchEvery     = 50 * time.Millisecond
	maxPrograms    = 64                              // programs that are kept in one worker
	maxProgramText = 4 << 20                         // bytes of their texts together
	maxComplaint   = 4 << 10                         // bytes that are kept of a worker's standard error
	maxBusy        = processorTime / 2 * time.Second // work after which a worker is replaced
	watchSlack     = 64 << 20                        // resident memory beyond the kernel's limit that the watch lets pass
	fleetAllowance = 4 << 10                         // bytes of memory for each device of the fleet, on top of the limit
)

// worker is one child process. One goroutine at a time talks to it.
type worker struct {
	cmd       *exec.Cmd
	in        *os.File // its standard input
	out       *os.File // its standard output
	reader    *bufio.Reader
	complaint complaint
	exited    chan struct{} // closed when the process is gone
	tooLarge  atomic.Bool   // The watch has ended the worker.

	limits      Limits
	ready       usage         // memory of the worker before it was asked anything
	allowance   int64         // bytes of memory for the fleet, beyond the limit of a program
	busy        time.Duration // time that the server waited for the worker: a bound of its processor time
	confinement Confinement

	numbers  map[digest]uint64 // numbers of the programs that the worker has
	next     uint64
	textSize int
	fleet    string // digest of the fleet that the worker has
	secrets  string // digest of the names of secrets that the worker has
}

// startWorker starts a process. The caller's thread must live as long as the process: see isolation.prepare.
func startWorker(command []string, limits Limits, allowance int64) (*worker, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make pipe: %w", err), stdin.Close(), in.Close())
	}
	widen(out)
	w := &worker{in: in, out: out, reader: bufio.NewReaderSize(out, 64<<10), exited: make(chan struct{}), limits: limits,
		allowance: allowance, numbers: map[digest]uint64{}}
	w.cmd, w.confinement, err = start(func() *exec.Cmd {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &w.complaint
		// Nothing of the server's environment, which holds secrets. One thread runs Go code: a program takes one
		// processor at most, its garbage collection included.
		cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", fmt.Sprintf("%s=%d", memoryVariable, w.memoryLimit())}
		return cmd
	})
	stdin.Close()
	stdout.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start worker: %w", err), in.Close(), out.Close())
	}
	go func() {
		_ = w.cmd.Wait() // how it ended is read from ProcessState
		close(w.exited)
	}()
	return w, nil
}

// greet tells a new worker its limits and hears how it is confined.
func (w *worker) greet() error {
	body, err := json.Marshal(hello{
		Memory: w.limits.Memory, WallMs: w.limits.Wall.Milliseconds(), Steps: w.limits.Counting.Steps,
		OutputBytes: w.limits.Counting.OutputBytes, ValueBytes: w.limits.Counting.ValueBytes,
		Values: w.limits.Counting.Values,
	})
	if err != nil {
		return fmt.Errorf("encode limits: %w", err)
	}
	if err := w.send(kindHello, body, helloPatience); err != nil {
		return err
	}
	k, answer, err := w.receive(helloPatience)
	if err != nil || k != kindHello {
		return fmt.Errorf("worker does not answer (%q): %w", w.complaint.String(), err)
	}
	var g greeting
	if err := json.Unmarshal([]byte(answer), &g); err != nil {
		return fmt.Errorf("read the greeting of a worker: %w", err)
	}
	w.ready = g.Ready
	if w.confinement == nil {
		w.confinement = Confinement{}
	}
	maps.Copy(w.confinement, g.Confinement)
	return nil
}

// memoryLimit returns the bytes of memory that the worker may use beyond what it used when it was ready.
func (w *worker) memoryLimit() int64 { return w.limits.Memory + w.allowance }

func (w *worker) send(k kind, body []byte, patience time.Duration) error {
	if err := w.in.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("set deadline: %w", err)
	}
	if err := writeFrame(w.in, k, body); err != nil {
		return fmt.Errorf("write to worker: %w", err)
	}
	return nil
}

// receive waits for one frame.
func (w *worker) receive(patience time.Duration) (kind, string, error) {
	return w.receiveAdmitted(patience, func(int) error { return nil })
}

// receiveAdmitted is receive with a function that has to admit the size of the frame.
func (w *worker) receiveAdmitted(patience time.Duration, admit func(size int) error) (kind, string, error) {
	began := time.Now()
	defer func() { w.busy += time.Since(began) }()
	if err := w.out.SetReadDeadline(began.Add(patience)); err != nil {
		return 0, "", fmt.Errorf("set deadline: %w", err)
	}
	return readAdmitted(w.reader, w.maxAnswer(), admit)
}

// maxAnswer is the largest frame that an honest worker sends.
func (w *worker) maxAnswer() int {
	const perValue = 24 // the tag and the lengths of value and name
	c := w.limits.Counting
	return c.ValueBytes + perValue*c.Values + 4*c.OutputBytes + 256<<10
}

// has reports whether the worker has the program.
func (w *worker) has(d digest) bool { _, ok := w.numbers[d]; return ok }

// compile makes the worker read a text; the answer is a program or an error.
func (w *worker) compile(d digest, text string) (k kind, body string, err error) {
	if len(w.numbers) >= maxPrograms || w.textSize+len(text) > maxProgramText {
		if err := w.send(kindForget, nil, w.limits.Wall); err != nil {
			return 0, "", err
		}
		clear(w.numbers)
		w.textSize = 0
	}
	number := w.next
	w.next++
	request := append(binary.AppendUvarint(nil, number), text...)
	if err := w.send(kindCompile, request, w.limits.Wall); err != nil {
		return 0, "", err
	}
	if k, body, err = w.receive(w.limits.Wall); err == nil && k == kindResult {
		w.numbers[d] = number
		w.textSize += len(text)
	}
	return k, body, err
}

// errOutgrown means that a worker may not use as much memory as the fleet needs.
var errOutgrown = errors.New("the fleet has outgrown the worker")

// peerAllowance is the memory that a worker needs for each byte of the devices' vars: encoded, decoded and as values.
const peerAllowance = 16

// allowanceFor returns the memory that workers get for a fleet. It grows in steps, because workers are replaced when it
// grows.
func allowanceFor(f *template.Fleet) int64 {
	step := int64(256 * fleetAllowance)
	for step < int64(len(f.Devices()))*fleetAllowance+peerAllowance*f.PeerBytes() {
		step *= 2
	}
	return step
}

// prepare sends the inputs that the program shares with others and that the worker does not have yet.
func (w *worker) prepare(reads fleet.Inputs, all *sharedInputs) error {
	if (reads.Devices || reads.Tags) && w.fleet != all.fleet.Digest() {
		if allowanceFor(all.fleet) > w.allowance {
			return errOutgrown
		}
		body, err := all.encode()
		if err != nil {
			return err
		}
		if err := w.send(kindFleet, body, helloPatience); err != nil {
			return err
		}
		w.fleet = all.fleet.Digest()
	}
	if reads.Secrets && w.secrets != all.secretsDigest() {
		body, err := json.Marshal(all.secrets)
		if err != nil {
			return fmt.Errorf("encode names of secrets: %w", err)
		}
		if err := w.send(kindSecrets, body, w.limits.Wall); err != nil {
			return err
		}
		w.secrets = all.secretsDigest()
	}
	return nil
}

// watch ends the worker when its resident memory grows beyond the kernel's limit, which is there on Linux before 4.7
// only, or where the limit could not be set. stop ends the watch.
func (w *worker) watch() (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(watchEvery, func() {
		now, err := memoryOf(w.cmd.Process.Pid)
		if err == nil && now.Resident > w.ready.Data+w.memoryLimit()+watchSlack {
			w.tooLarge.Store(true)
			w.kill()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Reset(watchEvery)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		timer = nil
	}
}

// worn reports whether a worker should be replaced although it works: it holds on to half of the memory that it may
// have, or has used up its processor time.
func (w *worker) worn() bool {
	now, err := memoryOf(w.cmd.Process.Pid)
	return w.tooLarge.Load() || w.isTired() || err == nil && now.Resident > (w.ready.Data+w.memoryLimit()+watchSlack)/2
}

// isTired reports whether a worker has worked for so long that the kernel might end it soon, whatever it does.
func (w *worker) isTired() bool { return w.busy > maxBusy }

func (w *worker) kill() { _ = w.cmd.Process.Kill() } // fails only when it is gone

// bury ends the worker and waits until it is gone.
func (w *worker) bury() {
	w.kill()
	<-w.exited
	w.in.Close()
	w.out.Close()
}

// The Go runtime (and the race detector) ends a process that gets no memory, or whose stack grows too far, with exit
// code 2 and one of these texts; there is no other sign of it.
var (
	outOfMemory = regexp.MustCompile(
		`out of memory|cannot allocate memory|cannot map pages|failed to allocate|errno[ =:]*12\b`,
	)
	outOfStack = regexp.MustCompile(`stack exceeds|stack overflow`)
)

// cause tells why talking to a worker ended with err: a limit that the program broke, in words for its author, or ""
// when the reason is not known.
func (w *worker) cause(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return timeMessage(w.limits.Wall)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EPIPE) {
		return "" // The worker is alive and sends nonsense.
	}
	select {
	case <-w.exited:
	case <-time.After(burialPatience):
		return ""
	}
	switch complaint := w.complaint.String(); {
	case w.tooLarge.Load(), outOfMemory.MatchString(complaint):
		return fmt.Sprintf("the program used more than %d MiB of memory", w.limits.Memory>>20)
	case outOfStack.MatchString(complaint):
		return "the program's values are nested too deeply"
	}
	return ""
}

func (w *worker) isGone() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// complaint keeps the beginning of what a worker writes to its standard error.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

var _ io.Writer = (*complaint)(nil)

func (c *complaint) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, b[:min(len(b), maxComplaint-len(c.text))]...)
	return len(b), nil
}

func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}
