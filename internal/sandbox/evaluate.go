package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/memlimit"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// Request is one evaluation.
type Request struct {
	Text   string
	Device template.Facts
	Config stconfig.Value // the configuration so far; its secrets do not reach the worker

	// Fleet is what devices() and tags() see; nil: no devices. Make it once per change, and give the same one as long as
	// nothing changes: it is encoded once, and sent once to each worker that needs it.
	Fleet   *template.Fleet
	Secrets []string // the names that secret() takes; nil: any
}

// Batch is one template for many devices; Fleet and Secrets are as in a Request.
type Batch struct {
	Text     string
	Subjects []Subject
	Fleet    *template.Fleet
	Secrets  []string
}

// Subject is one device of a batch.
type Subject struct {
	Device template.Facts
	Config stconfig.Value
}

type digest [sha256.Size]byte

// described is what is known of a text.
type described struct {
	program program
	err     error
}

// outcome is what an evaluation came to: the same for the same inputs.
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

// Describe finds what a program reads. It runs nothing. The error of a text that is no template is a *fleet.Error with
// line and column.
func (p *Pool) Describe(ctx context.Context, text string) (fleet.Inputs, error) {
	d, err := p.describe(ctx, text, sha256.Sum256([]byte(text)))
	return d.Reads, err
}

// Evaluate runs one template for one device, or answers from the cache. What is wrong with the template, a broken limit
// included, is a *fleet.Error with CodeInvalid.
func (p *Pool) Evaluate(ctx context.Context, r Request) (template.Result, error) {
	b, err := p.newBatch(ctx, r.Text, p.outfitFor(r.Fleet, r.Secrets))
	if err != nil {
		return template.Result{}, err
	}
	j := b.job(0, Subject{r.Device, r.Config})
	ran := false
	o, err := p.once(ctx, j.key, func() (o outcome, err error) {
		ran = true
		err = b.run(ctx, []job{j}, func(_ job, got outcome) { o = got })
		return o, err
	})
	if err == nil && !ran {
		err = memlimit.Take(ctx, o.footprint()) // it may outlive those whom it was made for
	}
	if err != nil {
		return template.Result{}, err
	}
	return o.result, o.err
}

// EvaluateAll runs one template for many devices and hands over each result as soon as it is there, not necessarily in
// order; yield is never called concurrently. Devices that agree in everything the program looks at are evaluated once.
// The error is ctx's or the pool's, or that the text is no template; never one device's.
func (p *Pool) EvaluateAll(ctx context.Context, all Batch, yield func(i int, r template.Result, err error)) error {
	b, err := p.newBatch(ctx, all.Text, p.outfitFor(all.Fleet, all.Secrets))
	if err != nil {
		return err
	}
	same := map[digest][]int{}
	var jobs []job
	for i, subject := range all.Subjects {
		j := b.job(i, subject)
		if o, ok := p.results.get(j.key); ok {
			yield(i, o.result, o.err)
			continue
		}
		if same[j.key] = append(same[j.key], i); len(same[j.key]) == 1 {
			jobs = append(jobs, j)
		}
	}
	return b.run(ctx, jobs, func(j job, o outcome) {
		for _, i := range same[j.key] {
			yield(i, o.result, o.err)
		}
	})
}

// batch is evaluations of one program.
type batch struct {
	pool    *Pool
	text    string
	digest  digest
	program program
	outfit  *outfit
	shared  []byte    // the part of the key that all devices share
	asked   time.Time // when a worker began with the evaluation under way
}

// job is one evaluation of a batch.
type job struct {
	index   int
	key     digest
	subject []byte // encoded
	crashes int    // workers that died while they were at it, nobody knows why
	spent   time.Duration
}

func (p *Pool) newBatch(ctx context.Context, text string, all *outfit) (*batch, error) {
	b := &batch{pool: p, text: text, digest: sha256.Sum256([]byte(text)), outfit: all}
	var err error
	if b.program, err = p.describe(ctx, text, b.digest); err != nil {
		return nil, err
	}
	b.shared = append(b.shared, b.digest[:]...)
	reads := b.program.Reads
	for _, input := range []struct {
		read   bool
		digest func() string
	}{{reads.Devices, all.fleet.Digest}, {reads.Tags, all.fleet.TagsDigest}, {reads.Secrets, all.secretsDigest}} {
		if input.read {
			b.shared = append(b.shared, input.digest()...)
		}
	}
	return b, nil
}

// job makes the key of an evaluation from exactly what the program looks at, and what to send to a worker.
func (b *batch) job(index int, s Subject) job {
	reads := b.program.Reads
	var encoded, config []byte
	if reads.Config {
		config = appendValue(nil, template.Conceal(s.Config))
	}
	if reads.Device.Any() {
		facts, err := json.Marshal(s.Device)
		if err != nil {
			panic(err) // texts and a number
		}
		encoded = appendText(encoded, string(facts))
	}
	encoded = append(append(encoded, config...), separator)
	key := s.Device.AppendDigest(append([]byte(nil), b.shared...), reads.Device)
	return job{index: index, key: sha256.Sum256(append(key, config...)), subject: encoded}
}

const (
	maxChunk      = 64      // devices in one request
	maxChunkBytes = 1 << 20 // of their facts and configurations
	maxRetries    = 3       // when workers die without being asked anything
	maxCrashes    = 3       // when they die of one evaluation and nobody knows why: somebody may have killed them
)

// run evaluates jobs, one after the other in one worker. A worker that dies is replaced, and the rest goes to the next.
func (b *batch) run(ctx context.Context, jobs []job, deliver func(job, outcome)) error {
	for retries := 0; len(jobs) > 0; {
		if err := b.pool.struckOut(b.digest); err != nil {
			for _, j := range jobs {
				deliver(j, outcome{err: err})
			}
			return nil
		}
		var asked bool
		var answered int
		death, err := b.pool.talk(ctx, func(w *worker) (err error) {
			asked, answered, err = b.ask(ctx, w, jobs, deliver)
			return err
		})
		jobs = jobs[answered:]
		switch {
		case err != nil:
			return err
		case death == nil:
			continue
		case !asked:
			if retries++; retries > maxRetries {
				return unavailable(death.err)
			}
			continue
		case death.cause == "":
			jobs[0].crashes++
			jobs[0].spent += time.Since(b.asked)
			if jobs[0].crashes < maxCrashes && jobs[0].spent < b.pool.opts.Limits.Wall/2 {
				continue
			}
			death.cause = "the process that ran the program died, perhaps for want of memory"
		}
		broken := limitError(death.cause)
		b.pool.strike(b.digest, broken)
		deliver(jobs[0], outcome{err: broken})
		jobs = jobs[1:]
	}
	return nil
}

// death is how a worker ended while it was talked to.
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

// allow gives the workers to come at least that much memory for the fleet.
func (p *Pool) allow(allowance int64) {
	for known := p.allowance.Load(); known < allowance && !p.allowance.CompareAndSwap(known, allowance); {
		known = p.allowance.Load()
	}
}

func unavailable(err error) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "templates cannot be evaluated now: worker processes die", Err: err}
}

func limitError(cause string) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: cause, Hint: "Look for something that grows, or runs, far more than it should.",
		Details: []fleet.Detail{{Field: "template", Message: cause}}}
}

// ask sends jobs to a worker in chunks and delivers the answers. asked tells whether an error came while the worker was
// at the job after the answered ones.
func (b *batch) ask(ctx context.Context, w *worker, jobs []job, deliver func(job, outcome)) (asked bool, answered int, err error) {
	if !w.has(b.digest) {
		if k, _, err := w.compile(b.digest, b.text); err != nil || k != kindResult {
			return false, 0, errors.Join(errors.New("worker cannot compile a program"), err)
		}
	}
	err = w.prepare(b.program.Reads, b.outfit)
	if errors.Is(err, errOutgrown) {
		b.pool.allow(allowanceFor(b.outfit.fleet))
	}
	if err != nil {
		return false, 0, err
	}
	for answered < len(jobs) && !w.isTired() {
		request := binary.AppendUvarint(nil, w.numbers[b.digest])
		n := answered
		for n < len(jobs) && n-answered < maxChunk && (n == answered || len(request)+len(jobs[n].subject) < maxChunkBytes) {
			request = append(request, jobs[n].subject...)
			n++
		}
		if err := w.send(kindEvaluate, request, helloPatience); err != nil {
			return false, answered, err
		}
		for ; answered < n; answered++ {
			b.asked = time.Now()
			k, body, err := w.receiveAdmitted(w.limits.Wall, func(size int) error { return memlimit.Take(ctx, int64(size)) })
			if err != nil {
				return true, answered, err
			}
			o, err := b.outcome(ctx, answer{key: jobs[answered].key, kind: k, body: body, took: time.Since(b.asked)})
			if err != nil {
				return true, answered, err
			}
			deliver(jobs[answered], o)
		}
	}
	return false, answered, nil
}

// answer is what a worker said of one job.
type answer struct {
	key  digest
	kind kind
	body string
	took time.Duration
}

// outcome reads an answer and keeps it, unless another time it might be different.
func (b *batch) outcome(ctx context.Context, a answer) (outcome, error) {
	var o outcome
	switch a.kind {
	case kindResult:
		take := func(bytes int64) error { return memlimit.Take(ctx, bytes) }
		result, err := decodeResult(a.body, b.program, b.pool.opts.Limits.Counting, take)
		if err != nil {
			return o, err
		}
		o.result = result
	case kindError:
		failure, late, err := decodeError(a.body)
		if err != nil {
			return o, err
		}
		o.err = failure
		if a.took > costly {
			b.pool.strike(b.digest, failure)
		}
		if late {
			return o, nil
		}
	default:
		return o, fmt.Errorf("worker answered with a frame of kind %q", a.kind)
	}
	b.pool.results.put(a.key, o, o.footprint())
	return o, nil
}

// describe compiles a text in a worker, once.
func (p *Pool) describe(ctx context.Context, text string, d digest) (program, error) {
	if known, ok := p.programs.get(d); ok {
		return known.program, known.err
	}
	for retries := 0; ; retries++ {
		if err := p.struckOut(d); err != nil {
			return program{}, err
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
			return program{}, err
		case death == nil:
			p.programs.put(d, known, 1<<10)
			return known.program, known.err
		case death.cause != "":
			broken := limitError(death.cause)
			p.strike(d, broken)
			return program{}, broken
		case retries == maxRetries:
			return program{}, unavailable(death.err)
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
		return known, nil
	case kindError:
		failure, _, err := decodeError(body)
		known.err = failure
		return known, err
	}
	return known, fmt.Errorf("worker answered with a frame of kind %q", k)
}
