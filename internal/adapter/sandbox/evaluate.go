package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Request is one evaluation.
type Request struct {
	Text   string
	Device template.Facts
	Config stconfig.Value // the configuration that templates before this one made; its secrets do not reach the worker

	// Fleet is what devices() and tags() see; nil: no devices. Make it once per change, and give the same one as long as
	// nothing changes: it is encoded once, and sent once to each worker that needs it.
	Fleet   *template.Fleet
	Secrets []string // names that secret() accepts; nil: any
}

type digest [sha256.Size]byte

// described is what is known about a text.
type described struct {
	program program
	refusal error // why the text may not be saved although it can be evaluated
	err     error
}

// outcome is the result of an evaluation. It is the same for the same inputs.
type outcome struct {
	result template.Result
	err    error
}

func (o outcome) footprint() int64 {
	const perEntry = 512 // keys, list elements, an error's texts
	n := perEntry + footprint(o.result.Value)
	for _, line := range o.result.Output {
		n += int64(len(line))
	}
	var failure *fleet.Error
	if errors.As(o.err, &failure) {
		n += int64(len(failure.Message) + len(failure.Hint) + len(failure.Traceback))
		for _, d := range failure.Details {
			n += perEntry/4 + int64(len(d.Message))
		}
	}
	return n
}

// Describe finds what a program reads that is about to be saved. It runs nothing. The error of a text that is no
// template, or that template.Program.Refusal refuses, is a *fleet.Error with line and column.
func (p *Pool) Describe(ctx context.Context, text string) (fleet.Inputs, error) {
	d, err := p.describe(ctx, text, sha256.Sum256([]byte(text)))
	return d.program.Reads, cmp.Or(err, d.refusal)
}

// Evaluate runs one template for one device, or answers from the cache. What is wrong with the template, a broken
// limit included, is a *fleet.Error with CodeInvalid.
func (p *Pool) Evaluate(ctx context.Context, r Request) (template.Result, error) {
	e, err := p.newEvaluation(ctx, r)
	if err != nil {
		return template.Result{}, err
	}
	ran := false
	o, err := p.once(ctx, e.key, func() (outcome, error) {
		ran = true
		return e.run(ctx)
	})
	if err == nil && !ran {
		err = p.opts.Memory.Take(ctx, o.footprint()) // the outcome may outlive the callers for whom it was made
	}
	if err != nil {
		return template.Result{}, err
	}
	return o.result, o.err
}

// evaluation is one program with its inputs.
type evaluation struct {
	pool         *Pool
	text         string
	digest       digest // digest of the text
	program      program
	sharedInputs *sharedInputs
	key          digest    // digest of the text and of exactly what the program reads
	subject      []byte    // inputs of its device that the program reads, encoded
	asked        time.Time // time at which a worker began with it; zero before
}

func (p *Pool) newEvaluation(ctx context.Context, r Request) (*evaluation, error) {
	e := &evaluation{pool: p, text: r.Text, digest: sha256.Sum256([]byte(r.Text)),
		sharedInputs: p.sharedInputsFor(r.Fleet, r.Secrets)}
	d, err := p.describe(ctx, r.Text, e.digest)
	if err != nil {
		return nil, err
	}
	e.program = d.program
	reads, key := e.program.Reads, append([]byte(nil), e.digest[:]...)
	for _, input := range []struct {
		read   bool
		digest func() string
	}{
		{reads.Devices, e.sharedInputs.fleet.Digest}, {reads.Tags, e.sharedInputs.fleet.TagsDigest},
		{reads.Secrets, e.sharedInputs.secretsDigest},
	} {
		if input.read {
			key = append(key, input.digest()...)
		}
	}
	var config []byte
	e.subject, config = encodeSubject(reads, r.Device, r.Config)
	e.key = sha256.Sum256(append(r.Device.AppendDigest(key, reads.Device), config...))
	return e, nil
}

const (
	maxRetries = 3 // tries when workers die before they were asked anything
	maxCrashes = 3 // tries when workers die during one evaluation for an unknown reason: they may have been killed
)

// run evaluates in a worker. A worker that dies is replaced.
func (e *evaluation) run(ctx context.Context) (o outcome, err error) {
	retries, crashes := 0, 0
	var spent time.Duration
	for {
		if err := e.pool.blockedFor(e.digest); err != nil {
			return outcome{err: err}, nil //nolint:nilerr // it is what the program came to
		}
		answered := false
		e.asked = time.Time{}
		death, err := e.pool.talk(ctx, func(w *worker) (err error) {
			answered, err = e.ask(ctx, w, &o)
			return err
		})
		switch {
		case err != nil:
			return outcome{}, err
		case answered:
			return o, nil
		case death == nil:
			continue
		case e.asked.IsZero():
			if retries++; retries > maxRetries {
				return outcome{}, unavailable(death.err)
			}
			continue
		case death.cause == "":
			crashes++
			spent += time.Since(e.asked)
			if crashes < maxCrashes && spent < e.pool.opts.Limits.Wall/2 {
				continue
			}
			death.cause = "the process that ran the program died, perhaps for want of memory"
		}
		broken := limitError(death.cause)
		e.pool.countFailure(e.digest, broken)
		return outcome{err: broken}, nil
	}
}

// death tells how a worker ended while the server talked to it.
type death struct {
	cause string // the limit that was broken, in words for the author of the program; "" when it is not known
	err   error
}

// talk runs a conversation with a worker. The error is ctx's or the pool's.
func (p *Pool) talk(ctx context.Context, conversation func(*worker) error) (*death, error) {
	w, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	forgive, unwatch := context.AfterFunc(ctx, w.kill), w.watch()
	err = conversation(w)
	unwatch()
	killed := !forgive()
	var refused *refusal
	switch {
	case err == nil && !killed && !w.worn():
		p.release(w)
		return nil, nil
	case err == nil:
		p.drop(w)
		return nil, nil
	case killed:
		p.drop(w)
		return nil, ctx.Err()
	case errors.As(err, &refused):
		p.drop(w)
		return nil, refused.err
	case errors.Is(err, errOutgrown):
		p.drop(w)
		return nil, nil
	}
	d := &death{cause: w.cause(err), err: err}
	p.drop(w)
	select {
	case <-p.stopped:
		return nil, errStopped()
	default:
	}
	if d.cause == "" {
		p.opts.Log.Warn("worker died", logkey.Err(err), slog.String(logkey.Reason, w.complaint.String()))
	}
	return d, nil
}

// allow gives workers that start from now on at least that much memory for the fleet.
func (p *Pool) allow(allowance int64) {
	for known := p.allowance.Load(); known < allowance && !p.allowance.CompareAndSwap(known, allowance); {
		known = p.allowance.Load()
	}
}

func unavailable(err error) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "templates cannot be evaluated now: worker processes die",
		Err: err}
}

func limitError(cause string) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: cause,
		Hint:    "Look for something that grows, or runs, far more than it should.",
		Details: []fleet.Detail{{Field: "template", Message: cause}}}
}

// ask sends the evaluation to a worker and reads the answer. answered is false when the worker has to be replaced
// instead.
func (e *evaluation) ask(ctx context.Context, w *worker, o *outcome) (answered bool, err error) {
	if !w.has(e.digest) {
		if k, _, err := w.compile(e.digest, e.text); err != nil || k != kindResult {
			return false, errors.Join(errors.New("worker cannot compile a program"), err)
		}
	}
	err = w.prepare(e.program.Reads, e.sharedInputs)
	if errors.Is(err, errOutgrown) {
		e.pool.allow(allowanceFor(e.sharedInputs.fleet))
	}
	if err != nil || w.isTired() {
		return false, err
	}
	request := append(binary.AppendUvarint(nil, w.numbers[e.digest]), e.subject...)
	if err := w.send(kindEvaluate, request, helloPatience); err != nil {
		return false, err
	}
	e.asked = time.Now()
	k, body, err := w.receiveAdmitted(
		w.limits.Wall,
		func(size int) error { return e.pool.opts.Memory.Take(ctx, int64(size)) },
	)
	if err != nil {
		return false, err
	}
	*o, err = e.outcome(ctx, k, body)
	return err == nil, err
}

// outcome reads an answer and keeps it, unless the answer might be different at another time.
func (e *evaluation) outcome(ctx context.Context, k kind, body string) (outcome, error) {
	var o outcome
	switch k {
	case kindResult:
		take := func(bytes int64) error { return e.pool.opts.Memory.Take(ctx, bytes) }
		result, err := decodeResult(body, e.program, e.pool.opts.Limits.Counting, take)
		if err != nil {
			return o, err
		}
		o.result = result
	case kindError:
		failure, late, err := decodeError(body)
		if err != nil {
			return o, err
		}
		o.err = failure
		if time.Since(e.asked) > costly {
			e.pool.countFailure(e.digest, failure)
		}
		if late {
			return o, nil
		}
	default:
		return o, fmt.Errorf("worker answered with a frame of kind %q", k)
	}
	e.pool.results.put(e.key, o, o.footprint())
	return o, nil
}

// describe compiles a text in a worker, once.
func (p *Pool) describe(ctx context.Context, text string, d digest) (described, error) {
	if known, ok := p.programs.get(d); ok {
		return known, known.err
	}
	for retries := 0; ; retries++ {
		if err := p.blockedFor(d); err != nil {
			return described{}, err
		}
		var known described
		death, err := p.talk(ctx, func(w *worker) error {
			k, body, err := w.compile(d, text)
			if err == nil {
				known, err = decodeDescription(k, body)
			}
			return err
		})
		switch {
		case err != nil:
			return described{}, err
		case death == nil:
			p.programs.put(d, known, 1<<10)
			return known, known.err
		case death.cause != "":
			broken := limitError(death.cause)
			p.countFailure(d, broken)
			return described{}, broken
		case retries == maxRetries:
			return described{}, unavailable(death.err)
		}
	}
}

func decodeDescription(k kind, body string) (described, error) {
	var known described
	switch k {
	case kindResult:
		if err := json.Unmarshal([]byte(body), &known.program); err != nil {
			return known, fmt.Errorf("read what a program is: %w", err)
		}
		if known.program.Refusal != nil {
			refusal, _, err := decodeError(string(known.program.Refusal))
			if err != nil {
				return known, fmt.Errorf("read why a text may not be saved: %w", err)
			}
			known.program.Refusal, known.refusal = nil, refusal
		}
		return known, nil
	case kindError:
		failure, _, err := decodeError(body)
		known.err = failure
		return known, err
	}
	return known, fmt.Errorf("worker answered with a frame of kind %q", k)
}
