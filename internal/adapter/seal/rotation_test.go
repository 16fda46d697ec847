package seal

import (
	"context"
	"errors"
	"testing"
)

// cells are a Store whose first write fails.
type cells struct{ failed bool }

func (c *cells) ReplaceSeal(_ context.Context, take func()) error {
	take()
	if !c.failed {
		c.failed = true
		return errors.New("the disk is full")
	}
	return nil
}

func (*cells) Reseal(context.Context, func()) error { return nil }

// A rotation whose first write failed kept both keys until the next start: typing the command again did nothing.
func TestARotationThatWasBegunGoesOnWhenItIsAskedForAgain(t *testing.T) {
	r := NewRotation(RotationOptions{Store: &cells{}, Keys: NewRing(Random()), Home: t.TempDir()}) // it does not run
	if err := r.RotateSeal(t.Context()); err == nil {
		t.Fatal("the first write did not fail")
	}
	if err := r.RotateSeal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if keys := r.Seal(); len(keys.Older) != 1 {
		t.Errorf("asking again made another key: %+v", keys)
	}
	select {
	case <-r.begun:
	default:
		t.Error("nothing finishes it")
	}
}
