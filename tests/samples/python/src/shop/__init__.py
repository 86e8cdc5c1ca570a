from shop.basket import Basket as Basket
