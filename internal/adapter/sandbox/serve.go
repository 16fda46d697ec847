package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"muster/internal/core/template"
)

const (
	maxRequest = 256 << 20 // bytes of a frame from the server, which is trusted
	maxStack   = 64 << 20  // a program that nests deeper ends the worker before it swaps
)

// Serve is the worker's main: it answers requests from in on out until in ends. Before it reads the first it shuts
// this whole process in, for good. It trusts the server alone: what its programs do to it is bounded by server and
// kernel.
func Serve(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(maxStack)
	s := &server{in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriterSize(out, 64<<10),
		programs: map[uint64]*template.Program{}}
	s.ready, _ = memoryOf(0)
	s.confinement = confineSelf(s.ready)
	for {
		k, body, err := readFrame(s.in, maxRequest)
		switch {
		case errors.Is(err, io.EOF):
			return nil // the server is gone, or done with us
		case err != nil:
			return fmt.Errorf("read request: %w", err)
		}
		if err := s.handle(k, body); err != nil {
			return err
		}
	}
}

type server struct {
	in       *bufio.Reader
	out      *bufio.Writer
	limits   template.Limits
	wall     time.Duration
	programs map[uint64]*template.Program

	confinement Confinement
	ready       usage // memory before the first request

	fleet   *template.Fleet
	secrets []string
	encoded []byte
}

func (s *server) handle(k kind, body string) error {
	switch k {
	case kindHello:
		return s.hello(body)
	case kindCompile:
		return s.compile(body)
	case kindForget:
		clear(s.programs)
		return nil
	case kindFleet:
		var devices []template.Facts
		if err := json.Unmarshal([]byte(body), &devices); err != nil {
			return fmt.Errorf("read fleet: %w", err)
		}
		s.fleet = template.NewFleet(devices)
		return nil
	case kindSecrets:
		s.secrets = nil
		if err := json.Unmarshal([]byte(body), &s.secrets); err != nil {
			return fmt.Errorf("read names of secrets: %w", err)
		}
		return nil
	case kindEvaluate:
		return s.evaluate(body)
	}
	return fmt.Errorf("a frame of unknown kind %q", k)
}

func (s *server) hello(limits string) error {
	var h hello
	if err := json.Unmarshal([]byte(limits), &h); err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	s.limits = template.Limits{Steps: h.Steps, OutputBytes: h.OutputBytes, ValueBytes: h.ValueBytes, Values: h.Values}
	s.wall = time.Duration(h.WallMs) * time.Millisecond
	// Garbage is collected late, as the heap of a worker is small, and before the kernel says no.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(h.Memory * 3 / 4)
	body, err := json.Marshal(greeting{s.confinement, s.ready})
	if err != nil {
		return fmt.Errorf("encode greeting: %w", err)
	}
	return s.answer(kindHello, body)
}

func (s *server) answer(k kind, body []byte) error {
	if err := writeFrame(s.out, k, body); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return s.out.Flush()
}

func (s *server) compile(body string) error {
	r := &reader{left: body}
	number, err := r.uvarint()
	if err != nil {
		return err
	}
	p, err := template.Compile(r.left)
	if err != nil {
		return s.answer(kindError, encodeError(err, false))
	}
	s.programs[number] = p
	is := program{Language: p.Language(), Reads: p.Reads()}
	if err := p.Refusal(); err != nil {
		is.Refusal = encodeError(err, false)
	}
	answer, err := json.Marshal(is)
	if err != nil {
		return fmt.Errorf("describe program: %w", err)
	}
	return s.answer(kindResult, answer)
}

// evaluate answers with one frame.
func (s *server) evaluate(body string) error {
	r := &reader{left: body, values: len(body)}
	number, err := r.uvarint()
	if err != nil {
		return err
	}
	p := s.programs[number]
	if p == nil {
		return fmt.Errorf("program %d is not loaded", number)
	}
	in, err := r.subject(p.Reads())
	if err != nil {
		return fmt.Errorf("read device: %w", err)
	}
	in.Fleet, in.Secrets = s.fleet, s.secrets
	var clock *time.Timer
	limits := s.limits
	late := false
	limits.Started = func(stop func(string)) {
		clock = time.AfterFunc(s.wall*9/10, func() { stop(timeMessage(s.wall)) })
	}
	result, err := p.Evaluate(in, limits)
	if clock != nil {
		late = !clock.Stop()
	}
	if err != nil {
		return s.answer(kindError, encodeError(err, late))
	}
	s.encoded = appendResult(s.encoded[:0], result)
	return s.answer(kindResult, s.encoded)
}

// timeMessage is the error of a program that does not end. The worker stops a little before the server would end it:
// stopped, it can still say where the program was.
func timeMessage(wall time.Duration) string {
	return fmt.Sprintf("the program takes longer than %v", wall)
}
