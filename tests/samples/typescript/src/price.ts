export interface Price {
  net(): number
}

/** Half of it. */
export class Reduced implements Price {
  constructor(private amount: number) {}

  net(): number {
    return this.amount / 2
  }
}

export function parse(text: string): Price
export function parse(amount: number): Price
export function parse(value: string | number): Price {
  return new Reduced(Number(value))
}
