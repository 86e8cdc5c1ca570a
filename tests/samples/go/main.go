package main

import shop "example.com/shop/store"

func main() {
	prices := map[string]shop.Price{"one": shop.Plain{Amount: 1}, "two": &shop.Reduced{}}
	shop.Total(prices)
}
