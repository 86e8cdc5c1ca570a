"""Rails' routes: nested blocks, resources, members, and what is no route."""

from textwrap import dedent

from indexing.crossing.rails import is_routes_file, read_rails_routes

ROUTES = """
    Rails.application.routes.draw do
      root to: "home#index"
      # get "/commented"
      get "/health", to: "status#show"
      post "login" => "sessions#create"

      namespace :api do
        namespace :v1 do
          resources :articles, only: [:index, :show] do
            resources :comments, only: %i[create]
            member do
              post :publish
            end
            get :drafts, on: :collection
          end
          resource :profile, except: [:new, :edit, :destroy]
        end
      end

      scope "/admin", module: "backstage" do
        match "stats", to: "reports#stats", via: [:get, :post]
      end
      if Rails.env.development?
        get "dev", to: "dev#index"
      end
    end
"""


def _routes() -> dict[str, str]:
    found = read_rails_routes("config/routes.rb", dedent(ROUTES).encode())
    return {
        f"{method} {route.path.text}": route.handler.removeprefix("app/controllers/")
        for route in found.routes
        for method in route.methods
    }


def test_routes_have_the_paths_of_their_blocks_and_name_their_actions() -> None:
    assert _routes() == {
        "GET /": "home_controller.rb#index",
        "GET /health": "status_controller.rb#show",
        "POST /login": "sessions_controller.rb#create",
        "GET /api/v1/articles": "api/v1/articles_controller.rb#index",
        "GET /api/v1/articles/:id": "api/v1/articles_controller.rb#show",
        "POST /api/v1/articles/:article_id/comments": "api/v1/comments_controller.rb#create",
        "POST /api/v1/articles/:id/publish": "api/v1/articles_controller.rb#publish",
        "GET /api/v1/articles/drafts": "api/v1/articles_controller.rb#drafts",
        "POST /api/v1/profile": "api/v1/profiles_controller.rb#create",
        "GET /api/v1/profile": "api/v1/profiles_controller.rb#show",
        "PATCH /api/v1/profile": "api/v1/profiles_controller.rb#update",
        "PUT /api/v1/profile": "api/v1/profiles_controller.rb#update",
        "GET /admin/stats": "backstage/reports_controller.rb#stats",
        "POST /admin/stats": "backstage/reports_controller.rb#stats",
        "GET /dev": "dev_controller.rb#index",
    }


def test_only_rails_own_files_are_read() -> None:
    assert is_routes_file("config/routes.rb")
    assert is_routes_file("engines/shop/config/routes/api.rb")
    assert not is_routes_file("app/routes.rb")


def test_broken_routes_say_what_they_can() -> None:
    assert read_rails_routes("config/routes.rb", b"\0\xff end end do |x").routes == ()
