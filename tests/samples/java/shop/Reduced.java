package shop;

public class Reduced implements Price {
  private final int amount;

  public Reduced(int amount) {
    this.amount = amount;
  }

  @Override
  public int net() {
    return amount / 2;
  }
}
