package budget

import (
	"context"
	"testing"
	"testing/synctest"

	"muster/internal/fleet"
)

func TestAPlaceThatIsGivenBackIsTakenAgain(t *testing.T) {
	c := Descriptors{Kept: 1, Visits: 2, Seconds: 1, Openings: 2}.NewConnections()
	release, ok := c.Keep()
	if !ok {
		t.Fatal("the only place was not given")
	}
	if _, ok := c.Keep(); ok {
		t.Fatal("one place was given twice")
	}
	release()
	if _, ok := c.Keep(); !ok {
		t.Error("the place was not given again")
	}
}

// Hung daemons held every place, and those that answer were not visited.
func TestSilentDaemonsLeaveHalfThePlaces(t *testing.T) {
	c := Descriptors{Visits: 4, Openings: 4}.NewConnections()
	for range 2 {
		if _, err := c.Visit(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.Visit(ended, false); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("a third silent daemon has a place: %v", err)
	}
	for range 2 {
		if _, err := c.Visit(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatWaitsForAPlaceGetsItInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Descriptors{Seconds: 1}.NewConnections()
		release, err := c.Second(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		turns := make(chan int, 3)
		for n := range 3 {
			go func() {
				mine, err := c.Second(t.Context())
				if err == nil {
					turns <- n
					mine()
				}
			}()
			synctest.Wait()
		}
		release()
		for want := range 3 {
			if got := <-turns; got != want {
				t.Errorf("%d came when it was the turn of %d", got, want)
			}
		}
	})
}
