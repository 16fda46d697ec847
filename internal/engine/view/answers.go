package view

import (
	"context"
	"sync"

	"muster/internal/fleet"
)

const (
	maxAnswers     = 64
	maxAnswerBytes = 64 << 20
)

// Source is what an answer is made from.
type Source struct {
	Of    string // which data
	State any    // names one state of the data: a revision, or a value that never changes. It is comparable
}

// OfRegistry is the source of lists that are made from nothing but a registry.
func OfRegistry(registry *fleet.Registry) Source { return Source{"registry", registry} }

// Answer gives what build makes of a source for a key. As long as readers ask about the same state of the source, an
// answer is built once.
func (v *View) Answer(from Source, key string, build func() (answer any, bytes int64, err error)) (any, error) {
	v.answering.Lock()
	kept := v.answers[from.Of]
	if kept == nil {
		kept = &answers{}
		v.answers[from.Of] = kept
	}
	v.answering.Unlock()
	if answer, found := kept.get(from.State, key); found {
		return answer, nil
	}
	answer, bytes, err := build()
	if err != nil {
		return nil, err
	}
	kept.put(from.State, key, answer, bytes)
	return answer, nil
}

// ofRegistry gives what is made of a registry alone. It is made once for all callers who see the whole fleet.
func ofRegistry[T any](ctx context.Context, v *View, registry *fleet.Registry, key string, build func() T) T {
	if !fleet.ScopeIn(ctx).Whole() {
		return build()
	}
	const bytes = 1 << 20 // more than 10,000 stops take
	made, err := v.Answer(OfRegistry(registry), key, func() (any, int64, error) { return build(), bytes, nil })
	if err != nil {
		return build()
	}
	return made.(T) //nolint:forcetypeassert // it was built above
}

// answers keeps what was made of one state of a source, for as long as readers ask about that state.
type answers struct {
	mu    sync.Mutex // guards the rest
	state any
	kept  map[string]keptAnswer
	bytes int64 // of all that are kept
}

type keptAnswer struct {
	answer any
	bytes  int64
}

func (a *answers) get(state any, key string) (answer any, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != state {
		return nil, false
	}
	kept, found := a.kept[key]
	return kept.answer, found
}

// clear forgets all answers.
func (a *answers) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.kept, a.bytes = nil, nil, 0
}

// put keeps an answer of so many bytes, in the place of an earlier one. Answers of another state go. When there are too
// many answers, it is not kept.
func (a *answers) put(state any, key string, answer any, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != state || a.kept == nil {
		a.state, a.kept, a.bytes = state, map[string]keptAnswer{}, 0
	}
	before, known := a.kept[key]
	after := a.bytes - before.bytes + bytes
	if !known && len(a.kept) >= maxAnswers || after > maxAnswerBytes {
		return
	}
	a.kept[key], a.bytes = keptAnswer{answer, bytes}, after
}
