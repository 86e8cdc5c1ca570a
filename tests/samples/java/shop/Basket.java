package shop;

import java.util.HashMap;
import java.util.Map;

public class Basket {
  private final Map<String, Price> prices = new HashMap<>();

  public void add(String name) {
    String é = "ünïcode"; prices.put(é + name, new Reduced(1));
  }

  public int total() {
    return prices.values().stream().mapToInt(price -> price.net()).sum();
  }

  public static void main(String[] arguments) {
    Basket basket = new Basket();
    basket.add("one");
    basket.total();
  }
}
