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
	Of    string // kind of data
	State any    // identifies one state of the data: a revision, or an immutable value. It is comparable
}

// OfRegistry returns the source of lists that depend only on a registry.
func OfRegistry(registry *fleet.Registry) Source { return Source{"registry", registry} }

// Answer returns the result of build for a source and a key. It calls build once, as long as readers ask about the
// same state of the source.
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

// ofRegistry returns the result of build, which depends only on the registry. It calls build once for all callers who
// see the whole fleet.
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

// answers caches what was made from one state of a source. It is emptied when readers ask about a different state.
type answers struct {
	mu    sync.Mutex // guards the rest
	state any
	kept  map[string]keptAnswer
	bytes int64 // size of all cached answers
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

// clear removes all answers.
func (a *answers) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.kept, a.bytes = nil, nil, 0
}

// put caches an answer of so many bytes. It removes an earlier answer for the key, and all answers of other states.
// When the cache is full, it does not store the answer.
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
