export { Basket as Cart } from './basket'
