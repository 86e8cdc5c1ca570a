package store

import "fmt"

// Price is what something costs.
type Price interface {
	Net() int
}

type Plain struct{ Amount int }

func (p Plain) Net() int { return p.Amount }

type Reduced struct{ Plain }

func (r *Reduced) Net() int { return r.Plain.Net() / 2 }

func Total(prices map[string]Price) int {
	sum := 0
	for name, price := range prices {
		fmt.Println("ünïcode", name, price.Net())
		sum += price.Net()
	}
	return sum
}
