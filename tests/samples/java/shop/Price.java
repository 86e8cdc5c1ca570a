package shop;

/** What something costs. */
public interface Price {
  int net();
}
