package adapter

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
)

// Read reads an option's value, or returns otherwise if none is given.
func Read[T any](o clients.Options, name string, otherwise T, parse func(string) (T, error)) (T, error) {
	text, given := o.Extra[name]
	if !given {
		return otherwise, nil
	}
	v, err := parse(text)
	if err != nil {
		return otherwise, fmt.Errorf("option %s=%s: %w", name, text, err)
	}
	return v, nil
}

// Checks makes an Option's Check of what reads the value.
func Checks[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

func ParseLength(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("want a length of time, as 2s")
	}
	return d, nil
}

func ParseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("want a whole number, 0 or more")
	}
	return n, nil
}

func ParseNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, errors.New("want a number, 0 or more, as 0.1")
	}
	return n, nil
}

func ParseSwitch(text string) (bool, error) {
	switch text {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, errors.New("want yes or no")
}

var masterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ParseMaster reads the name by which sentinels know a master, in the characters that Sentinel allows.
func ParseMaster(text string) (string, error) {
	if !masterName.MatchString(text) {
		return "", errors.New("want letters, digits, dots, hyphens and underscores")
	}
	return text, nil
}

// LockDelay is the option of the locks that have a lock-delay, two leases if it is
// not given or cannot be read, which Open reports.
func LockDelay(o clients.Options) time.Duration {
	d, _ := Read(o, "delay", 2*o.TTL, ParseLength)
	return d
}

func OneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("want %s", strings.Join(words, " or "))
		}
		return text, nil
	}
}
