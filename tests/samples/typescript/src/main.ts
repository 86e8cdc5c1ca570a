import { Cart } from 'shop'

const carts = [new Cart()]
carts.forEach(cart => cart.total())
