package cli

import (
	"fmt"
	"io"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows on standard error how far long work is: as a bar on a terminal, as a line for each step elsewhere.
type progress struct {
	out io.Writer // nil if nothing is shown

	bars *mpb.Progress // nil without a terminal
	bar  *mpb.Bar

	mu   sync.Mutex // guards text
	text string
}

func (env *environment) newProgress() *progress {
	p := &progress{}
	if env.quiet {
		return p
	}
	p.out = env.Err
	if terminalOf(env.Err) != nil {
		p.bars = mpb.New(mpb.WithOutput(env.Err), mpb.WithWidth(barWidth))
		p.bar = p.bars.AddBar(0, mpb.BarRemoveOnComplete(), mpb.AppendDecorators(decor.CountersNoUnit("%d/%d "),
			decor.Any(func(decor.Statistics) string { return p.shown() })))
	}
	return p
}

// terminalProgress shows nothing without a terminal: the work is short, and logs need no lines about it.
func (env *environment) terminalProgress() *progress {
	if terminalOf(env.Err) == nil {
		return &progress{}
	}
	return env.newProgress()
}

const barWidth = 40 // characters

func (p *progress) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

// at shows that so much is done of all, and what is being done. All is 0 where it is not known.
func (p *progress) at(done, all int64, text string) {
	p.mu.Lock()
	differs := text != p.text
	p.text = text
	p.mu.Unlock()
	switch {
	case p.out == nil:
	case p.bar != nil:
		p.bar.SetTotal(max(all, done+1), false) // end removes the bar, not the last step
		p.bar.SetCurrent(done)
	case differs:
		fmt.Fprintln(p.out, text)
	}
}

// end removes the bar.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}
