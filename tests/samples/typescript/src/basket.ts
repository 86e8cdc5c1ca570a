import { parse, type Price } from './price'

export class Basket {
  private prices = new Map<string, Price>()

  add(name: string): void {
    const é = 'ünïcode'; this.prices.set(é + name, parse(name))
  }

  total(): number {
    let sum = 0
    for (const price of this.prices.values()) {
      sum += price.net()
    }
    return sum
  }
}
