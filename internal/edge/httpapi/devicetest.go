package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

const (
	maxTests         = 16 // The tests of all callers at the same time.
	maxTestsOfCaller = 6  // A page of the console sends as many at once.
)

// AccessTester connects to a daemon and tries its API key. An error means that no connection was tried.
type AccessTester interface {
	TestAccess(ctx context.Context, target fleet.Target) (fleet.AccessTest, error)
	// ProvenByAgent reports whether the device was last reached through its agent.
	ProvenByAgent(id fleet.DeviceID) bool
}

// DeviceTestHandlers test the address and the API key of a device before they are stored. A test makes the server
// connect to an address that the caller chooses. Therefore it needs the permission to register devices, sends what
// registering sends, is in the audit before it connects, and its answer has nothing of what the peer sent except a
// device ID, a version number and a fingerprint.
type DeviceTestHandlers struct {
	*base
	Tester  AccessTester
	running turns
	callers *callerLimit
}

func (s DeviceTestHandlers) routes(b *base) []route {
	s.base, s.running, s.callers = b, newTurns(maxTests), &callerLimit{most: maxTestsOfCaller}
	return []route{{method: http.MethodPost, path: Prefix + "/devices/{deviceID}/test", name: "testDevice",
		summary:    "Try the address and the API key of a device, registered or not, and store nothing",
		permission: auth.WriteDevices, body: reflect.TypeFor[api.TestDevice](), reply: reflect.TypeFor[api.DeviceTest](),
		volatile: true, conflicts: true, off: s.Tester == nil, handle: s.testDevice}}
}

func (s DeviceTestHandlers) testDevice(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.TestDevice](r, "apiAddress")
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	registered := registry.Devices[id]
	target, stored, err := testTarget(id, registered, body)
	if err != nil {
		return reply{}, err
	}
	detail := "access at " + target.Address
	if stored {
		detail += ", with the stored API key"
		if err := s.maySendStored(registered, target); err != nil {
			return reply{}, err
		}
	}
	if !s.callers.enter(r.who.Name) {
		return reply{}, &fleet.Error{Code: fleet.CodeTooMany, Message: "your other tests are still running",
			Hint: "Wait until they have ended; a test takes at most 20 seconds."}
	}
	defer s.callers.leave(r.who.Name)
	end, err := s.running.take(r.Context())
	if err != nil {
		return reply{}, err
	}
	defer end()
	if err := s.record(r, "device.test", string(id), detail); err != nil {
		return reply{}, err
	}
	found, err := s.Tester.TestAccess(r.Context(), target)
	if err != nil {
		return reply{}, err
	}
	return show(wireTest(found, id, registry))
}

// maySendStored refuses to send the stored API key of a device where following the device would not send it: to an
// address that nothing proves, of a device that its agent proved, or to another certificate than the pinned one.
func (s DeviceTestHandlers) maySendStored(device *fleet.Registered, target fleet.Target) error {
	byAgent := device.Settings.Way == fleet.WayAgent || s.Tester.ProvenByAgent(device.ID)
	if target.Pin == device.Settings.Pin && (target.Pin != "" || !byAgent) {
		return nil
	}
	e := fleet.Invalidf("apiKey", "the stored API key is not sent there: nothing proves that this device answers at the "+
		"address")
	e.Hint = fmt.Sprintf("Give the API key again, or pin the certificate of the daemon first: `muster device trust %s`.",
		device.ID.Short())
	return e
}

// testTarget completes a body with what is stored of the device. registered is nil if it is not registered. stored
// reports whether the API key is the stored one.
func testTarget(id fleet.DeviceID, registered *fleet.Registered, body api.TestDevice) (target fleet.Target, stored bool,
	err error) {
	device, err := deviceFrom(id, api.PutDevice{APIAddress: body.APIAddress, APIPort: body.APIPort, APIKey: body.APIKey})
	if err != nil {
		return target, false, err
	}
	if device.APIAddress == "" {
		return target, false, fleet.Invalidf("apiAddress", "only a device with an address can be tested: without one, "+
			"Muster looks for the device after it is registered")
	}
	if registered != nil {
		if registered.Altered {
			return target, false, &fleet.Error{Code: fleet.CodeConflict,
				Message: "the record of this device was not written by Muster, so that it is not contacted",
				Hint:    fmt.Sprintf("Pin its certificate first: `muster device trust %s`.", id.Short())}
		}
		if device.APIKey.IsZero() {
			device.APIKey, stored = registered.APIKey, true
		}
		target.Pin, target.AllowPlain = registered.Settings.Pin, registered.Settings.AllowPlain
	}
	if err := device.Validate(); err != nil { // A key is needed.
		return target, false, err
	}
	if body.Pin != nil {
		if target.Pin, err = fleet.ParsePin(*body.Pin); err != nil {
			return target, false, at("pin", err)
		}
	}
	target.Device, target.APIKey, target.Introduced = id, device.APIKey, fleet.ByPerson
	target.Address = net.JoinHostPort(device.APIAddress, strconv.Itoa(device.APIPort))
	return target, stored, nil
}

func wireTest(found fleet.AccessTest, id fleet.DeviceID, registry *fleet.Registry) api.DeviceTest {
	text := fleet.AccessTexts[found.Problem]
	out := api.DeviceTest{Problem: string(found.Problem), Field: text.Field, Reason: fleet.Reason(found.Err()),
		Next: text.Next, Version: found.Version, Fingerprint: found.Shown.Fingerprint}
	if device := registry.Devices[id]; device != nil {
		out.Registered, out.Label = true, device.Label
	}
	if found.Other != "" {
		out.Other = api.TestedOther{DeviceID: string(found.Other)}
		if other := registry.Devices[found.Other]; other != nil {
			out.Other.Registered, out.Other.Label = true, other.Label
		}
	}
	return out
}
