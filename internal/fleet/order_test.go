package fleet

import (
	"slices"
	"testing"
)

func TestAnOrderSaysHowFarItIsWithEachDevice(t *testing.T) {
	for status, want := range map[OrderStatus][]OrderState{
		OrderRunning:     {OrderStateDone, OrderStateSkipped, OrderStateRunning, OrderStateWaiting},
		OrderFailed:      {OrderStateDone, OrderStateSkipped, OrderStateFailed, OrderStateUntouched},
		OrderInterrupted: {OrderStateDone, OrderStateSkipped, OrderStateUnknown, OrderStateUntouched},
	} {
		order := Order{Devices: []DeviceID{"A", "B", "C", "D"}, Done: 2, Skipped: []DeviceID{"B"}, Status: status}
		if got := order.States(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", status, got, want)
		}
	}
	done := Order{Devices: []DeviceID{"A"}, Done: 1, Status: OrderDone}
	if got := done.States(); !slices.Equal(got, []OrderState{OrderStateDone}) {
		t.Errorf("got %v", got)
	}
}
